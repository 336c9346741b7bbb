// Save it as middleware.js beside package.json, and add an API key with the role "proxy"
// as the environment variable AFFILIATE_PROXY_KEY of the project, marked as sensitive.
const SERVICE = "https://aff.example.net";
const PASSED_ON = ["Accept", "Content-Type", "If-None-Match", "Origin", "Purpose",
  "Referer", "Sec-Purpose", "User-Agent"];

export const config = { matcher: ["/tap.js", "/track/:path*"] };

export default async function middleware(request) {
  const url = new URL(request.url);
  const headers = new Headers();
  for (const name of PASSED_ON) {
    if (request.headers.has(name)) headers.set(name, request.headers.get(name));
  }
  headers.set("X-Affiliate-Proxy", process.env.AFFILIATE_PROXY_KEY);
  headers.set("X-Visitor-Address", request.headers.get("X-Real-IP") || "");
  const body = request.method === "POST" ? await request.text() : undefined;
  return fetch(SERVICE + url.pathname + url.search, {
    method: request.method, headers, body, redirect: "manual",
  });
}
