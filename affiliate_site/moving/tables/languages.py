"""Headers in German, French and Spanish, by the names of our columns."""

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
