import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import css from "./dialog.module.css";
import overlay from "./overlay.module.css";

type Props = { open: boolean; onClose: () => void; title: string; children: ReactNode; wide?: boolean };

/** A dialog: it takes the focus, Escape closes it, and the focus then returns to where it was. */
export function Dialog({ open, onClose, title, children, wide = false }: Props) {
  return (
    <Base.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={overlay.backdrop} />
        <Base.Popup className={`${overlay.popup} ${css.popup}`} data-wide={wide || undefined}>
          <header className={css.head}>
            <Base.Title className={css.title}>{title}</Base.Title>
            <Base.Close className={css.close} aria-label="Close">
              <X size={16} aria-hidden />
            </Base.Close>
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The buttons at the end of a dialog. */
export const DialogFoot = ({ children }: { children: ReactNode }) => <footer className={css.foot}>{children}</footer>;
