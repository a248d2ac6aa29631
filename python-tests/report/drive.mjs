// Drives Chromium for the tests: a JSON command a line on standard input, an answer a line on standard output.
// Usage: node drive.mjs FOLDER CHROMIUM, where FOLDER/node_modules has puppeteer-core.
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder, chromium] = process.argv.slice(2);
const puppeteer = createRequire(join(folder, "package.json"))("puppeteer-core");
const args = ["--no-sandbox", "--force-color-profile=srgb", "--disable-dev-shm-usage"];
const browser = await puppeteer.launch({ executablePath: chromium, args, headless: true });
const page = await browser.newPage();
let errors = [];
page.on("console", (message) => ["error", "warn"].includes(message.type()) && errors.push(message.text()));
page.on("pageerror", (error) => errors.push(String(error)));
page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || errors.push(`fetched ${request.url()}`));

const DO = {
  async open({ path, width = 1300, height = 1000, scale = 1, dark = false }) {
    await page.setViewport({ width, height, deviceScaleFactor: scale });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await page.goto("about:blank");
    errors = [];
    const start = Date.now();
    await page.goto(`file://${path}`);
    await page.waitForFunction("document.documentElement.dataset.ready === 'true'", { timeout: 120000 });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    return Date.now() - start;
  },
  eval: ({ code }) => page.evaluate(code),
  click: ({ selector }) => page.click(selector),
  press: ({ key }) => page.keyboard.press(key),
  async type({ selector, words }) {
    await page.focus(selector);
    await page.keyboard.type(words);
  },
  select: ({ selector, value }) => page.select(selector, value),
  shot: ({ path, whole = false }) => page.screenshot({ path, fullPage: whole }).then(() => null),
  errors: () => errors,
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    const value = await DO[command.do](command);
    console.log(JSON.stringify({ value: value ?? null }));
  } catch (why) {
    console.log(JSON.stringify({ why: String(why) }));
  }
}
await browser.close();
