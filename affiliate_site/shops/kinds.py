"""The kinds of shops that can be connected."""

from affiliate_site.shops.base import Shop
from affiliate_site.shops.other import OtherShop
from affiliate_site.shops.paddle import PaddleShop
from affiliate_site.shops.shopify import ShopifyShop
from affiliate_site.shops.stripe import StripeShop
from affiliate_site.shops.woocommerce import WooCommerceShop

SHOPS: dict[str, Shop] = {
    shop.kind: shop
    for shop in (
        StripeShop(),
        WooCommerceShop(),
        ShopifyShop(),
        PaddleShop(),
        OtherShop(),
    )
}
