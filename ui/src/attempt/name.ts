/** A name for an attempt beside others of its session: one that nothing else has, and that tells that a page made it. */
export const attemptName = () => `page-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
