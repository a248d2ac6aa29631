// Makes one script and one style of the sources. Usage: node build.mjs [FOLDER], else ../built.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2] ?? join(here, "../built");
const uplot = dirname(dirname(createRequire(import.meta.url).resolve("uplot")));
await mkdir(into, { recursive: true });
const common = { bundle: true, minify: true, lineLimit: 110, legalComments: "none", charset: "ascii", target: "es2022" };
await build({ ...common, entryPoints: [join(here, "src/main.ts")], format: "iife", outfile: join(into, "report.js") });
await build({ ...common, entryPoints: [join(here, "src/report.css")], outfile: join(into, "report.css") });
const version = JSON.parse(await readFile(join(uplot, "package.json"), "utf8")).version;
const licence = (await readFile(join(uplot, "LICENSE"), "utf8")).trim();
await writeFile(join(into, "licences.txt"), `The timeline is drawn by uPlot ${version}:\n\n${licence}\n`);
