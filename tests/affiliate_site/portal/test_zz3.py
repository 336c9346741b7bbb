from django.test import Client
from affiliate_site.portal.access import COOKIE
def test_big(mina, portal):
    mina.raise_request_exception=False
    for n,d,ct in (("big",b"a="+b"x"*1_100_000,"application/x-www-form-urlencoded"),("fields",b"&".join(b"a%d=1"%i for i in range(1500)),"application/x-www-form-urlencoded"),("bad bytes",b"page=%ed%a0%80&language=de&a=\xff\xed\xa0\x80","application/x-www-form-urlencoded"),("bad multipart",b"--x\r\nfoo","multipart/form-data; boundary=x"),("no boundary",b"x","multipart/form-data"),("charset",b"a=1","application/x-www-form-urlencoded; charset=utf-7"),("charset16",b"language=de","application/x-www-form-urlencoded; charset=nosuch"),("json",b'{"a":"\\ud800"}',"application/json")):
        for p in ("sign-in/","language/","profile/edit/","apply/"):
            for c in (mina,Client(raise_request_exception=False), Client(raise_request_exception=False,enforce_csrf_checks=True)):
                r=c.post(portal+p,d,content_type=ct)
                if r.status_code>=500 or n!="x" and p=="language/": print(n,p,r.status_code)
    for k in ("\ud800","\xff"*50,'"\\000"',"a"*20000,"\x00"):
        c=Client(raise_request_exception=False); 
        try:
            r=c.get(portal+"sales/",HTTP_COOKIE=f"{COOKIE}={k}; language={k}; csrf={k}"); print("cookie",ascii(k[:8]),r.status_code)
        except UnicodeEncodeError as e: print("client cannot send")
    r=mina.get(portal+"sales/",HTTP_ACCEPT_LANGUAGE="x"*5000+",de;q=9999"); print(r.status_code)
    r=Client().get(portal,HTTP_ACCEPT_LANGUAGE="\x00,*,zz-ZZ;q=-1"); print(r.status_code)
    h=dict(mina.get(portal+"sales/").headers); print(h)
