import { Link } from "@tanstack/react-router";
import { buttonClass } from "../parts/button";
import { useTitle } from "../shell/title";
import css from "./list.module.css";

export default function Missing() {
  useTitle("Not found");
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Page not found</h1>
      </header>
      <p className={css.note}>The page may have moved, or the address contains a typo.</p>
      <Link to="/" className={buttonClass()}>
        Go home
      </Link>
    </div>
  );
}
