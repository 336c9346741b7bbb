"""The columns of a file: found by their headers, or as another system names them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from affiliate_site.moving.tables.kinds import PREFIXES, TableKind

HEADERS = {
    name: tuple(texts.split(", "))
    for name, texts in {
        "id": "partner id, partnernummer, zahlungsnummer, referenz, identifiant,"
        " référence, identificador, referencia",
        "email": "e mail address, e mail adresse, adresse e mail, courriel, correo,"
        " correo electrónico",
        "firstname": "vorname, prénom, nombre",
        "lastname": "nachname, familienname, nom, nom de famille, apellido, apellidos",
        "name": "vollständiger name, nom complet, nombre completo",
        "company": "firma, unternehmen, société, entreprise, empresa",
        "address": "straße, anschrift, adresse, rue, dirección",
        "address_two": "adresszusatz, complément d adresse, dirección 2",
        "postal_code": "plz, postleitzahl, code postal, código postal",
        "city": "ort, stadt, ville, ciudad",
        "state": "bundesland, région, provincia",
        "country": "land, pays, país",
        "group": "gruppe, groupe, grupo",
        "parent": "übergeordneter partner, geworben von, parrain, padrino",
        "program": "programm, programme, programa",
        "status": "statut, zustand, état, estado",
        "code": "empfehlungscode, code de parrainage, código de referido, partner code,"
        " partnercode, code partenaire, code affilié, código de afiliado",
        "further_codes": "weitere codes, alte codes, anciens codes, códigos antiguos",
        "link": "partnerlink, empfehlungslink, lien, lien de parrainage, enlace",
        "coupon": "gutschein, gutscheincode, rabattcode, code promo, cupón",
        "payout_method": "auszahlungsart, zahlungsart, mode de paiement, método de pago",
        "affiliate": "affilié, afiliado, partner id, partnernummer, partner code,"
        " partnercode, partenaire, code partenaire, code affilié, código de afiliado",
        "customer_id": "kunde, kundennummer, client, numéro de client, cliente, número de cliente",
        "external_id": "bestellnummer, bestellung, auftragsnummer, rechnungsnummer,"
        " commande, numéro de commande, numéro de facture, pedido, número de pedido,"
        " número de factura",
        "amount": "betrag, umsatz, bestellwert, nettobetrag, netto, net, saldo,"
        " guthaben, offener betrag, montant, montant net, montant ht, solde,"
        " solde dû, importe, importe neto, neto, importe pendiente",
        "currency": "währung, devise, moneda, divisa",
        "commission": "provision, provisionsbetrag, commission, comisión",
        "commission_type": "provisionsart, type de commission, tipo de comisión",
        "approved": "freigegeben, genehmigt, approuvé, validé, aprobado",
        "paid": "bezahlt, ausgezahlt, payé, versé, pagado",
        "paid_at": "ausgezahlt am, bezahlt am, gezahlt am, auszahlungsdatum,"
        " zahlungsdatum, payé le, versé le, date de paiement, date de versement,"
        " pagado el, fecha de pago",
        "payment": "zahlung, auszahlung, zahlungsnummer, paiement, pago",
        "created_at": "datum, erstellt, erstellt am, bestelldatum, bezahlt am,"
        " gezahlt am, angemeldet am, créé le, payé le, date de commande, inscrit le,"
        " fecha, fecha de pedido, creado el, pagado",
        "date": "datum, stichtag, stand, fecha, date d arrêté",
        "removed_at": "gelöscht, gelöscht am, supprimé, supprimé le, eliminado",
    }.items()
}


MARKS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class System:
    """The exports of another system: headers by the kind and name of our columns.

    `answers` are those to questions (`questions.py`), and `ignored` headers that decide
    nothing, both by kind. `is_proven` says that the headers are those of a real export.
    """

    name: str
    label: str
    headers: Mapping[str, Mapping[str, str]]
    defaults: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_proven: bool = False


SYSTEMS = {
    system.name: system
    for system in (
        System(
            "tapfiliate",
            "Tapfiliate",
            {
                "affiliates": {
                    "id": "id",
                    "firstname": "firstname",
                    "lastname": "lastname",
                    "email": "email",
                    "company": "company",
                    "coupon": "coupon",
                    "created_at": "created_at",
                },
                "customers": {
                    "customer_id": "customer_id",
                    "affiliate": "affiliate_id",
                    "program": "program",
                    "status": "status",
                    "created_at": "created_at",
                },
                "conversions": {
                    "external_id": "external_id",
                    "amount": "amount",
                    "currency": "currency",
                    "affiliate": "affiliate_email",
                    "program": "program",
                    "customer_id": "customer_id",
                    "commission": "commission_amount",
                    "commission_type": "commission_type",
                    "status": "commission_status",
                    "approved": "commission_approved",
                    "paid": "commission_paid",
                    "payment": "payment_id",
                    "created_at": "created_at",
                },
                "payments": {
                    "id": "id",
                    "affiliate": "affiliate_id",
                    "amount": "amount",
                    "currency": "currency",
                    "created_at": "created_at",
                },
            },
        ),
        System(
            "rewardful",
            "Rewardful",
            {
                "affiliates": {
                    "email": "email",
                    "firstname": "first_name",
                    "lastname": "last_name",
                    "code": "token",
                    "link": "link",
                    "payout_email": "paypal_email",
                    "created_at": "created_at",
                    "status": "state",
                },
                "customers": {
                    "customer_id": "stripe_customer_id",
                    "affiliate": "email",
                    "created_at": "created_at",
                },
                "conversions": {
                    "external_id": "id",
                    "affiliate": "affiliate_email",
                    "customer_id": "stripe_customer_id",
                    "amount": "sale_amount",
                    "currency": "currency",
                    "commission": "commission_amount",
                    "status": "state",
                    "paid_at": "paid",
                    "created_at": "created_at",
                },
            },
            defaults={"affiliates": {"payout_method": "paypal"}},
        ),
        System(
            "firstpromoter",
            "FirstPromoter",
            {
                "affiliates": {
                    "id": "cust_id",
                    "email": "email",
                    "firstname": "first_name",
                    "lastname": "last_name",
                    "code": "ref_id",
                    "coupon": "promo_code",
                    "payout_email": "paypal_email",
                    "parent": "parent_promoter",
                    "status": "status",
                    "created_at": "created_at",
                },
                "customers": {
                    "customer_id": "uid",
                    "affiliate": "promoter_email",
                    "created_at": "created_at",
                },
                "conversions": {
                    "external_id": "event_id",
                    "affiliate": "promoter_email",
                    "customer_id": "uid",
                    "amount": "sale_amount",
                    "currency": "currency",
                    "commission": "commission_amount",
                    "status": "status",
                    "paid": "payout_status",
                    "created_at": "created_at",
                },
            },
            defaults={"affiliates": {"payout_method": "paypal"}},
        ),
        System(
            "partnerstack",
            "PartnerStack",
            {
                "affiliates": {
                    "id": "partner_key",
                    "firstname": "partner_first",
                    "lastname": "partner_last",
                    "email": "partner_email",
                    "group": "partner_group",
                    "status": "approved_status",
                    "link": "link_url",
                    "coupon": "stripe_coupon",
                    "payout_email": "paypal_email",
                    "created_at": "partner_joined_date",
                },
                "customers": {
                    "customer_id": "customer_key",
                    "affiliate": "partner_key",
                    "created_at": "created_at",
                },
                "conversions": {
                    "external_id": "key",
                    "affiliate": "partner_key",
                    "customer_id": "customer_key",
                    "amount": "amount",
                    "currency": "currency",
                    "commission": "reward_amount",
                    "status": "reward_status",
                    "paid_at": "payout_date",
                    "created_at": "created_at",
                },
            },
            defaults={"affiliates": {"payout_method": "paypal"}},
            answers={"conversions": {"units": "cents"}},
        ),
        System(
            "post-affiliate-pro",
            "Post Affiliate Pro",
            {
                "affiliates": {
                    "id": "!USERID",
                    "code": "!REFID",
                    "email": "!USERNAME",
                    "firstname": "!FIRSTNAME",
                    "lastname": "!LASTNAME",
                    "parent": "!PARENTUSERID",
                    "status": "!RSTATUS",
                    "created_at": "!DATEINSERTED",
                    "removed_at": "!DELETED",
                },
                "conversions": {
                    "external_id": "!ORDERID",
                    "affiliate": "!USERID",
                    "amount": "!TOTALCOST",
                    "commission": "!COMMISSION",
                    "status": "!RSTATUS",
                    "paid": "!PAYOUTSTATUS",
                    "row_kind": "!RTYPE",
                    "tier": "!TIER",
                    "created_at": "!DATEINSERTED",
                },
            },
            ignored={"conversions": ("!DATEAPPROVED",)},
        ),
    )
}


def normalize(header: str) -> str:
    """Return a header without case and marks, and without the zone of its times."""
    return MARKS.sub(" ", header.casefold()).strip().removesuffix(" utc")


def guess_mapping(
    kind: TableKind, header: Sequence[str], system: System | None = None
) -> dict[str, str]:
    """Return the headers of our columns by name, each header once.

    What a system names comes first, then the names and labels of our columns, then
    their synonyms, then other languages. Columns of other kinds of data are left out.
    """
    free = {normalize(each): each for each in reversed(header)}
    mapping: dict[str, str] = {}
    named = system.headers.get(kind.name, {}) if system else {}
    steps: list[list[tuple[str, tuple[str, ...]]]] = [
        [(name, (text,)) for name, text in named.items()],
        [(column.name, (column.name, column.label)) for column in kind.columns],
        [(column.name, column.synonyms) for column in kind.columns],
        [(column.name, HEADERS.get(column.name, ())) for column in kind.columns],
    ]
    for step in steps:
        for name, texts in step:
            for text in map(normalize, texts):
                if name not in mapping and text in free:
                    mapping[name] = free.pop(text)
    for each in header:
        prefix, mark, key = each.partition(":")
        name = f"{prefix.strip().casefold()}:{key.strip()}"
        if mark and prefix.strip().casefold() in PREFIXES and kind.find_column(name):
            mapping[name] = each
    return mapping
