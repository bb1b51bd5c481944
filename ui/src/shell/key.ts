/** A key of a page: pressed alone, or after `g`; one that works always is no letter, and works while somebody types, too. */
export type Key = {
  keys: string;
  does: string;
  /** It is about the row that has the focus, or moves that: the palette, which takes the focus, does not offer it. */
  focused?: boolean;
  run: () => void;
  always?: boolean;
};
