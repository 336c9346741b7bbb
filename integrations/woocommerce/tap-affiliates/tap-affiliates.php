<?php
/**
 * Plugin Name: Affiliate tracking for WooCommerce
 * Description: Loads the tracking script on every page, and adds the visitor's ID to orders and the lines to refunds.
 * Version: 1.1.0
 * License: MIT
 * Requires PHP: 7.4
 * Requires Plugins: woocommerce
 *
 * Stores two settings, the address of the service and the account's ID, and writes one value
 * to orders: `tap_vid`, a random ID from the cookie of the script. Orders, as webhooks and the
 * REST API have them, then say what their refunds are of. Nothing else is read or sent.
 */

defined( 'ABSPATH' ) || exit;

/* Orders are written through their object, which works with both order storages. */
add_action( 'before_woocommerce_init', function () {
	$features = 'Automattic\WooCommerce\Utilities\FeaturesUtil';
	if ( class_exists( $features ) ) {
		$features::declare_compatibility( 'custom_order_tables', __FILE__, true );
		$features::declare_compatibility( 'cart_checkout_blocks', __FILE__, true );
	}
} );

/* The script, as in the guide of the browser script. */
add_action( 'wp_head', function () {
	$service = get_option( 'tap_affiliates_service', '' );
	$account = get_option( 'tap_affiliates_account', '' );
	if ( '' === $service || '' === $account ) {
		return;
	}
	?>
	<script src="<?php echo esc_url( $service . '/tap.js' ); ?>" async></script>
	<script>
	(function (w, n) {
		w.TapfiliateObject = n;
		w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
	})(window, "tap");
	tap("create", <?php echo wp_json_encode( $account, JSON_HEX_TAG ); ?>);
	tap("detect");
	</script>
	<?php
} );

/* Both run before the order is saved: the classic checkout, and the one of blocks. */
add_action( 'woocommerce_checkout_create_order', 'tap_affiliates_add_visitor' );
add_action( 'woocommerce_store_api_checkout_update_order_from_request', 'tap_affiliates_add_visitor' );

function tap_affiliates_add_visitor( $order ) {
	$visitor = isset( $_COOKIE['tap_vid'] ) ? $_COOKIE['tap_vid'] : '';
	if ( is_string( $visitor ) && preg_match( '/\A[0-9a-f]{1,64}\z/', $visitor ) ) {
		$order->update_meta_data( 'tap_vid', $visitor );
	}
}

/* WooCommerce gives a refund of an order its total only; its lines have the form of the REST API. */
add_filter( 'woocommerce_rest_prepare_shop_order_object', 'tap_affiliates_add_refunded_lines', 10, 2 );

function tap_affiliates_add_refunded_lines( $response, $order ) {
	$data = $response->get_data();
	if ( empty( $data['refunds'] ) ) {
		return $response;
	}
	$types   = array( 'line_items' => 'line_item', 'fee_lines' => 'fee', 'shipping_lines' => 'shipping' );
	$refunds = array();
	foreach ( $order->get_refunds() as $refund ) {
		$refunds[ $refund->get_id() ] = $refund;
	}
	foreach ( $data['refunds'] as $number => $row ) {
		if ( ! isset( $refunds[ $row['id'] ] ) ) {
			continue;
		}
		foreach ( $types as $name => $type ) {
			$items = array_values( $refunds[ $row['id'] ]->get_items( $type ) );

			$data['refunds'][ $number ][ $name ] = array_map( 'tap_affiliates_describe_refunded_line', $items );
		}
	}
	$response->set_data( $data );
	return $response;
}

function tap_affiliates_describe_refunded_line( $item ) {
	$decimals = wc_get_price_decimals();
	$key      = '_refunded_item_id';
	return array(
		'id'        => $item->get_id(),
		'total'     => wc_format_decimal( $item->get_total(), $decimals ),
		'total_tax' => wc_format_decimal( $item->get_total_tax(), $decimals ),
		'meta_data' => array( array( 'key' => $key, 'value' => $item->get_meta( $key ) ) ),
	);
}

/* Settings, Affiliate tracking. */
add_action( 'admin_init', function () {
	register_setting( 'tap_affiliates', 'tap_affiliates_service', array(
		'sanitize_callback' => function ( $value ) {
			$value   = trim( (string) $value );
			$address = esc_url_raw( $value, array( 'https' ) );
			if ( '' !== $value && '' === $address ) {
				$message = 'Enter an address that begins with https://. The earlier one was kept.';
				add_settings_error( 'tap_affiliates_service', 'tap_affiliates_service', $message );
				return get_option( 'tap_affiliates_service', '' );
			}
			return untrailingslashit( $address );
		},
	) );
	register_setting( 'tap_affiliates', 'tap_affiliates_account', array(
		'sanitize_callback' => 'sanitize_text_field',
	) );
} );

add_action( 'admin_menu', function () {
	$title = 'Affiliate tracking';
	add_options_page( $title, $title, 'manage_options', 'tap-affiliates', 'tap_affiliates_show_settings' );
} );

function tap_affiliates_show_settings() {
	?>
	<div class="wrap">
		<h1>Affiliate tracking</h1>
		<form method="post" action="options.php">
			<?php settings_fields( 'tap_affiliates' ); ?>
			<table class="form-table">
				<tr>
					<th><label for="tap_affiliates_service">Address of the service</label></th>
					<td><input class="regular-text" type="url" id="tap_affiliates_service" name="tap_affiliates_service"
						placeholder="https://aff.example.net"
						value="<?php echo esc_attr( get_option( 'tap_affiliates_service', '' ) ); ?>"></td>
				</tr>
				<tr>
					<th><label for="tap_affiliates_account">Account ID</label></th>
					<td><input class="regular-text" type="text" id="tap_affiliates_account" name="tap_affiliates_account"
						value="<?php echo esc_attr( get_option( 'tap_affiliates_account', '' ) ); ?>"></td>
				</tr>
			</table>
			<?php submit_button(); ?>
		</form>
	</div>
	<?php
}
