// Opens a trace in Perfetto's own page, in a browser without a screen, and prints the answer to
// each query as a line of JSON.
// node perfetto.mjs NODE_MODULES WEB_DIST TRACE SQL...
import { createReadStream, statSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { extname, join, normalize, resolve as absolute } from "node:path";

const [modules, web, trace, ...queries] = process.argv.slice(2);
const puppeteer = createRequire(join(absolute(modules), "x"))("puppeteer-core");
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, "http://x").pathname);
  const file = path === "/trace.bin" ? trace : join(web, path === "/" ? "index.html" : path);
  try {
    const length = statSync(file).size;
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream", "content-length": length });
    createReadStream(file).pipe(response);
  } catch {
    response.writeHead(404).end();
  }
});
// The page's rules admit traces from this port alone.
await new Promise((resolve, reject) => server.once("error", reject).listen(9001, "127.0.0.1", resolve));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto("http://127.0.0.1:9001/#!/?url=http://127.0.0.1:9001/trace.bin");
  try {
    await page.waitForFunction("globalThis.app?.trace?.engine !== undefined", { timeout: 120000 });
  } catch (error) {
    throw new Error(`${error}; ${errors.join("; ")}; ${await page.evaluate("document.body.innerText")}`);
  }
  for (const query of queries) {
    const rows = await page.evaluate(async (sql) => {
      const result = await globalThis.app.trace.engine.query(sql);
      const rows = [];
      for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(result.columns().map((column) => {
          const value = it.get(column);
          return typeof value === "bigint" ? Number(value) : value;
        }));
      }
      return rows;
    }, query);
    console.log(JSON.stringify(rows));
  }
} finally {
  await browser.close();
  server.close();
}
