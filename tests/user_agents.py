"""User agents of people and of bots, as they are sent."""

APPLE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15"
ANDROID = "Mozilla/5.0 (Linux; Android 13; SM-A536B) AppleWebKit/537.36"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"

# Browsers, those of apps included, and devices whose names are like those of bots.
PEOPLE = [
    f"{WINDOWS} (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    f"{APPLE} (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    f"{APPLE} (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/450.0;FBLC/de_DE]",
    f"{APPLE} (KHTML, like Gecko) Mobile/15E148 Instagram 330.0.3.29.100",
    f"{APPLE} (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29",
    f"{APPLE} (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]",
    f"{APPLE} (KHTML, like Gecko) GSA/320.0 Mobile/15E148 Safari/604.1",
    f"{APPLE} Mobile/15E148 Safari Line/14.1",
    f"{ANDROID} (KHTML, like Gecko) Chrome/120 Safari/537.36 BytedanceWebview/d8a2",
    f"{ANDROID} (KHTML, like Gecko) Chrome/120 DuckDuckGo/5 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; CUBOT NOTE 20) AppleWebKit/537.36 Chrome/120",
    f"{WINDOWS} (KHTML, like Gecko) Chrome/128.0 YaBrowser/24.10 Safari/537.36",
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
    "Opera/9.80 (Android; Opera Mini/36.2/119.132; U; id) Presto/2.12.423",
]

BOTS = [
    # Crawlers
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "ia_archiver",
    # Previews of links
    "WhatsApp/2.23.20.0",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "TelegramBot (like TwitterBot)",
    "facebookexternalhit/1.1",
    f"{WINDOWS} Teams/1.0 skypeuripreview",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5",
    f"{WINDOWS} Firefox/11.0 (via ggpht.com GoogleImageProxy)",
    "Signal",
    "Viber/13",
    # Programs
    "curl/8.1",
    "Wget/1.21",
    "okhttp/4.9",
    "axios/1.6",
    "undici",
    "Java/17.0.1",
    "GuzzleHttp/7",
    "PHP/8.2",
    "Ruby",
    "Go-http-client/2.0",
    "python-requests/2.32",
    "PostmanRuntime/7.32",
    # Browsers without a person
    "Mozilla/5.0 (X11; Linux x64) HeadlessChrome/131.0 Safari/537.36",
    f"{ANDROID} Chrome/119 Mobile Safari/537.36 Chrome-Lighthouse",
]
