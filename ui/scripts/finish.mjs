// After a build: every file that gains from it has a .gz beside it, which is what is served, and notices.txt names
// what of others the page is made of, with its licence.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const page = new URL("../dist/page/", import.meta.url).pathname;

/** The packages of the lock file that are in the page: not those that only build or test it. */
async function notices() {
  const root = new URL("../", import.meta.url).pathname;
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const parts = [];
  for (const [folder, entry] of Object.entries(lock.packages)) {
    if (folder === "" || entry.dev || entry.optional || entry.peer) continue;
    const files = await readdir(join(root, folder));
    const name = files.find((f) => /^(licen[cs]e|copying)/i.test(f));
    const text = name ? await readFile(join(root, folder, name), "utf8") : "";
    const title = folder.replace(/^.*node_modules\//, "");
    if (!entry.license) throw new Error(`${title} says no licence`);
    parts.push(`${title} ${entry.version} (${entry.license})\n\n${text.trim()}\n`);
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

await writeFile(join(page, "notices.txt"), await notices());
for (const entry of await readdir(page, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|css|html|svg|txt|json)$/.test(entry.name)) continue;
  const file = join(entry.parentPath ?? entry.path, entry.name);
  const text = await readFile(file);
  const packed = gzipSync(text, { level: 9 });
  if (packed.length < text.length * 0.9) await writeFile(`${file}.gz`, packed);
}
