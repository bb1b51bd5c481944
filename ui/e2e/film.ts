import type { Locator, Page } from "@playwright/test";
import sharp from "sharp";

/** A picture that is shown for some milliseconds. */
type Frame = { png: Buffer; ms: number };

/** Where the pointer goes between two frames of its way, and how long each is shown, in milliseconds. */
const steps = 8;
const step = 60;

const arrow = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="22" height="30"><path d="M2 2v20l5.2-4.6 3.5 8.2 3.9-1.7-3.5-8h7z" fill="#111" stroke="#fff" stroke-width="1.6"/></svg>',
);

/** A film of a page: pictures of it, with a pointer that goes to what is pressed, as an animated WebP. */
export class Film {
  private readonly frames: Frame[] = [];
  private at = { x: 560, y: 420 };

  constructor(private readonly page: Page) {}

  /** Shows the page as it is now for so long. */
  async show(ms: number) {
    this.frames.push({ png: await this.pointed(await this.picture()), ms });
  }

  /** Shows what happens for so long, with a picture each so often. */
  async watch(ms: number, every: number) {
    for (let left = ms; left > 0; left -= every) {
      await this.page.waitForTimeout(every); // what happens is what is filmed
      await this.show(every);
    }
  }

  /** Goes to what is pressed, and presses it. */
  async press(what: Locator) {
    const box = (await what.boundingBox())!;
    const from = this.at;
    const to = { x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2) };
    const picture = await this.picture();
    for (let i = 1; i <= steps; i++) {
      const way = (1 - Math.cos((Math.PI * i) / steps)) / 2;
      this.at = { x: Math.round(from.x + (to.x - from.x) * way), y: Math.round(from.y + (to.y - from.y) * way) };
      this.frames.push({ png: await this.pointed(picture), ms: step });
    }
    await what.hover();
    await this.show(450);
    await what.click();
  }

  /** Writes the film, and says how long it is, in milliseconds. */
  async write(path: string): Promise<number> {
    const delay = this.frames.map((f) => f.ms);
    await sharp(
      this.frames.map((f) => f.png),
      { join: { animated: true } },
    )
      .webp({ quality: 84, effort: 5, delay, loop: 0, minSize: true, mixed: true })
      .toFile(path);
    return delay.reduce((sum, ms) => sum + ms, 0);
  }

  private picture = () => this.page.screenshot({ animations: "disabled", caret: "hide" });

  private pointed = (png: Buffer) => sharp(png).composite([{ input: arrow, left: this.at.x, top: this.at.y }]).png({ compressionLevel: 1 }).toBuffer();
}
