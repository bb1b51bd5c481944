/** A key of a page: pressed alone, or after `g`. Keys that always work are not letters, and also work during typing. */
export type Key = {
  keys: string;
  does: string;
  /** It applies to the focused row, or moves the focus: the palette, which takes the focus, does not offer it. */
  focused?: boolean;
  run: () => void;
  always?: boolean;
};
