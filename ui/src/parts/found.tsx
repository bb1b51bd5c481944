import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** A tag or a label, which leads to the sessions that are found by its word; one with a blank is no word of the list's field. */
export function Found({ word, children }: { word: string; children: ReactNode }) {
  if (/\s/.test(word)) return <span>{children}</span>;
  return (
    <Link to="/sessions" search={{ q: word }} title="Sessions like this">
      {children}
    </Link>
  );
}
