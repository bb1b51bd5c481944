import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** A tag or a label as a link to the matching sessions; values with a space cannot be searched. */
export function Found({ word, children }: { word: string; children: ReactNode }) {
  if (/\s/.test(word)) return <span>{children}</span>;
  return (
    <Link to="/sessions" search={{ q: word }} title="Sessions like this">
      {children}
    </Link>
  );
}
