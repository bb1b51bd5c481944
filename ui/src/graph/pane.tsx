import { Route } from "lucide-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { criticalPath } from "../live/critical";
import type { Outline } from "../live/outline";
import { Skeleton } from "../parts/feedback";
import { Toggle } from "../parts/toggle";
import { useKeys } from "../shell/keys";
import css from "./pane.module.css";

/** The graph and its library are loaded on request. */
const Graph = lazy(() => import("./graph").then((m) => ({ default: m.Graph })));

type Props = { outline: Outline; selected: number | null; onSelect: (task: number) => void; views: ReactNode };

/** The graph of an attempt with its tools. */
export function GraphPane({ outline, selected, onSelect, views }: Props) {
  const [critical, setCritical] = useState(false);
  const path = useMemo(() => (critical ? new Set(criticalPath(outline).map((task) => task.id)) : null), [critical, outline, outline.version]);
  useKeys([{ keys: "c", does: "Show the tasks that determined the duration", run: () => setCritical(!critical) }]);
  return (
    <div className={css.pane}>
      <div className={css.tools}>
        {views}
        <Toggle on={critical} title="Tasks that determined the duration of the attempt" turn={() => setCritical(!critical)}>
          <Route size={12} aria-hidden /> critical
        </Toggle>
      </div>
      <Suspense fallback={<Skeleton rows={6} height={40} />}>
        <Graph outline={outline} selected={selected} onSelect={onSelect} critical={path} />
      </Suspense>
    </div>
  );
}
