// A worker with the routes shop.example/tap.js and shop.example/track/*, and an API key
// with the role "proxy" as its secret: wrangler secret put AFFILIATE_PROXY_KEY
const SERVICE = "https://aff.example.net";
const PASSED_ON = ["Accept", "Content-Type", "If-None-Match", "Origin", "Purpose",
  "Referer", "Sec-Purpose", "User-Agent"];

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const headers = new Headers();
    for (const name of PASSED_ON) {
      if (request.headers.has(name)) headers.set(name, request.headers.get(name));
    }
    headers.set("X-Affiliate-Proxy", env.AFFILIATE_PROXY_KEY);
    headers.set("X-Visitor-Address", request.headers.get("CF-Connecting-IP") || "");
    const body = request.method === "POST" ? await request.text() : undefined;
    return fetch(SERVICE + url.pathname + url.search, {
      method: request.method, headers, body, redirect: "manual",
    });
  },
};
