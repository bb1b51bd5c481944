import { Link } from "@tanstack/react-router";
import { buttonClass } from "../parts/button";
import { useTitle } from "../shell/title";
import css from "./list.module.css";

export default function Missing() {
  useTitle("Not found");
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>There is no such page.</h1>
      </header>
      <p className={css.note}>It may have moved, or the address has a slip.</p>
      <Link to="/" className={buttonClass()}>
        Go home
      </Link>
    </div>
  );
}
