// What each page has to fetch, packed, against what it may: the files that its entry imports without being asked,
// as Vite's manifest has them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const page = new URL("../dist/page/", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(page, ".vite/manifest.json"), "utf8"));
const kilobyte = 1000;

function closure(keys, seen = new Set()) {
  for (const key of keys) {
    if (seen.has(key)) continue;
    seen.add(key);
    closure(manifest[key].imports ?? [], seen);
  }
  return seen;
}

function weigh(files) {
  return [...new Set(files)].reduce((sum, f) => sum + gzipSync(readFileSync(join(page, f)), { level: 9 }).length, 0);
}

const shell = closure(["index.html"]);
const route = (name) => closure(["index.html", `src/pages/${name}.tsx`]);
const scripts = (keys) => [...keys].map((k) => manifest[k].file);
const styles = (keys) => [...keys].flatMap((k) => manifest[k].css ?? []);
const home = weigh(scripts(route("home")));
const budgets = [
  ["home, JavaScript", home, 220],
  ["attempt beside it, JavaScript", weigh(scripts(route("attempt"))) - weigh(scripts(shell)), 110],
  ["admin beside it, JavaScript", weigh(scripts(route("admin"))) - weigh(scripts(shell)), 15],
  ["home, styles", weigh(styles(route("home"))), 15],
  ["attempt, styles", weigh(styles(route("attempt"))), 15],
  ["the graph beside the attempt, JavaScript", weigh(scripts(closure(["src/graph/graph.tsx"], new Set(route("attempt"))))) - weigh(scripts(route("attempt"))), 75],
  ["the editor beside the shell, JavaScript", weigh(scripts(closure(["src/editor/code.tsx"], route("edit")))) - weigh(scripts(shell)), 160],
  ["the editor, styles", weigh(styles(closure(["src/editor/code.tsx"], route("edit")))), 15],
];
let over = false;
for (const [what, bytes, most] of budgets) {
  const line = `${what}: ${(bytes / kilobyte).toFixed(1)} of ${most} KB`;
  console.log(line);
  if (bytes > most * kilobyte) over = true;
}
if (over) {
  console.error("The page is larger than it may be: see docs/console.md");
  process.exit(1);
}
