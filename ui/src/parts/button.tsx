import type { ButtonHTMLAttributes } from "react";
import css from "./button.module.css";

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { look?: "plain" | "main" | "danger" | "quiet" };

export function Button({ look = "plain", className = "", type = "button", ...rest }: Props) {
  return <button type={type} className={`${css.button} ${css[look]} ${className}`} {...rest} />;
}

/** The classes of a button, for links that look like one. */
export const buttonClass = (look: NonNullable<Props["look"]> = "plain") => `${css.button} ${css[look]}`;
