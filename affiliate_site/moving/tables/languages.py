"""Headers in German, French and Spanish, by the names of our columns."""

HEADERS = {
    name: tuple(texts.split(", "))
    for name, texts in {
        "id": "partner id, partnernummer, zahlungsnummer, referenz",
        "email": "e mail address, e mail adresse, adresse e mail, courriel, correo,"
        " correo electrónico",
        "firstname": "vorname, prénom, nombre",
        "lastname": "nachname, familienname, nom, nom de famille, apellido, apellidos",
        "name": "vollständiger name, nom complet, nombre completo",
        "company": "firma, unternehmen, société, entreprise, empresa",
        "address": "straße, anschrift, adresse, rue, dirección",
        "postal_code": "plz, postleitzahl, code postal, código postal",
        "city": "ort, stadt, ville, ciudad",
        "country": "land, pays, país",
        "group": "gruppe, groupe, grupo",
        "program": "programm, programme, programa",
        "status": "statut, estado",
        "code": "empfehlungscode, code de parrainage, código de referido",
        "coupon": "gutschein, gutscheincode, rabattcode, code promo, cupón",
        "payout_method": "auszahlungsart, zahlungsart, mode de paiement",
        "affiliate": "affilié, afiliado, partner id, partnernummer",
        "customer_id": "kunde, kundennummer, client, cliente",
        "external_id": "bestellnummer, bestellung, auftragsnummer, commande,"
        " numéro de commande, pedido, número de pedido",
        "amount": "betrag, umsatz, bestellwert, saldo, guthaben, montant, solde,"
        " importe",
        "currency": "währung, devise, moneda, divisa",
        "commission": "provision, comisión",
        "payment": "zahlung, auszahlung, paiement, pago",
        "created_at": "datum, erstellt, erstellt am, bezahlt am, gezahlt am, créé le,"
        " payé le, fecha, pagado",
        "date": "datum, stichtag, fecha",
    }.items()
}
