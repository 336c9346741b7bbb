<?php
/* Removes the settings. What orders have stays with them. */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'tap_affiliates_service' );
delete_option( 'tap_affiliates_account' );
