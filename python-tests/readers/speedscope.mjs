// Checks a file against speedscope's schema, and imports a file as the application does.
// node speedscope.mjs NODE_MODULES FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, file] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "x"));
const Ajv = require("ajv");
const schema = join(resolve(modules), "speedscope/dist/release/file-format-schema.json");
const valid = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schema)));
const json = JSON.parse(readFileSync(file));
if (!valid(json)) {
  console.error(JSON.stringify(valid.errors));
  process.exit(1);
}
console.log(json.profiles.reduce((sum, of) => sum + of.weights.reduce((a, b) => a + b, 0), 0));
