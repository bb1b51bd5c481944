/** A unique name for another attempt of a session, which shows that the console created it. */
export const attemptName = () => `page-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
