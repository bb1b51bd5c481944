import "@xyflow/react/dist/base.css";
import { Background, Controls, type Edge, Handle, MiniMap, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { ChevronDown, ChevronRight } from "lucide-react";
import { createContext, memo, useContext, useEffect, useMemo, useState } from "react";
import { labelOf } from "../attempt/tree";
import { type Outline, shownState, type Task } from "../live/outline";
import { Mark } from "../parts/mark";
import { lookOf } from "../parts/state";
import { Duration } from "../parts/time";
import css from "./graph.module.css";
import { layOut, nodeOf, sizes } from "./layout";
import { boxesFor, boxesOf, mostBoxes, openAtFirst, type Tally, talliesOf } from "./opened";

type Props = {
  outline: Outline;
  selected: number | null;
  onSelect: (task: number) => void;
  /** Tasks that determined the duration of the attempt; null draws all alike. */
  critical: ReadonlySet<number> | null;
};

type TaskData = { task: Task; state: string; version: number; tally: Tally | null; open: boolean; selected: boolean; aside: boolean };
type Actions = { select: (task: number) => void; toggle: (task: number) => void };

const Acts = createContext<Actions>({ select: () => {}, toggle: () => {} });

/** The graph of an attempt: tasks from left to right in the order of their dependencies, groups as boxes around their tasks. */
export function Graph(props: Props) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({ outline, selected, onSelect, critical }: Props) {
  const [toggled, setToggled] = useState<ReadonlyMap<number, boolean>>(new Map());
  const [full, setFull] = useState<Task | null>(null);
  const tasks = outline.tasks.size;
  // The open groups depend on the existing tasks, not on their states, so nothing moves during an attempt.
  const first = useMemo(() => openAtFirst(outline), [tasks]);
  const open = useMemo(() => {
    const all = new Set(first);
    for (const [task, is] of toggled) if (is) all.add(task);
      else all.delete(task);
    return all;
  }, [first, toggled]);
  const layout = useMemo(() => layOut(boxesFor(outline, open)), [tasks, open]);
  const actions = useMemo<Actions>(
    () => ({
      select: onSelect,
      toggle: (id) => {
        const is = !open.has(id);
        const task = outline.tasks.get(id);
        if (is && task && boxesOf(outline, new Set([...open, id])) > mostBoxes) return setFull(task);
        setFull(null);
        setToggled((before) => new Map(before).set(id, is));
      },
    }),
    [onSelect, open, outline],
  );
  const nodes = useNodes(outline, layout, selected, critical);
  const edges = useMemo<Edge[]>(() => {
    const on = (node: string) => critical === null || node.startsWith("bar") || critical.has(Number(node));
    return layout.lines.map(({ from, to }) => ({
      id: `${from}>${to}`,
      source: from,
      target: to,
      focusable: false,
      className: critical !== null && on(from) && on(to) ? css.onPath! : critical !== null ? css.offPath! : "",
    }));
  }, [layout, critical]);
  return (
    <Acts.Provider value={actions}>
      <div className={css.graph} role="group" aria-label="Graph of the tasks. The timeline lists the same tasks.">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
          edgesFocusable={false}
          minZoom={0.05}
          maxZoom={1.5}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.08 }}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} size={1} />
          <Controls showInteractive={false} />
          {nodes.length > 60 && <MiniMap pannable zoomable nodeColor={colorOf} ariaLabel="Map of the graph" />}
          <Finder task={selected} />
        </ReactFlow>
        {full && (
          <p className={css.full} role="status">
            {full.name} has {full.children.length.toLocaleString("en")} tasks. The graph shows at most {mostBoxes}: collapse other groups first, or use the timeline.
          </p>
        )}
      </div>
    </Acts.Provider>
  );
}

const colors: Record<ReturnType<typeof lookOf>, string> = {
  done: "var(--done)",
  running: "var(--running)",
  failed: "var(--failed)",
  retry: "var(--retry)",
  canceled: "var(--canceled)",
  waiting: "var(--waiting)",
  blocked: "var(--border-strong)",
  skipped: "var(--waiting)",
  ignored: "var(--retry)",
};

const colorOf = (node: Node) => (node.type === "task" && !(node.data as TaskData).open ? colors[lookOf((node.data as TaskData).state)] : "transparent");

function useNodes(outline: Outline, layout: ReturnType<typeof layOut>, selected: number | null, critical: ReadonlySet<number> | null): Node[] {
  return useMemo(() => {
    const tallies = talliesOf(outline);
    const inside = (parent: number) => (parent === 0 ? {} : { parentId: nodeOf(parent) });
    const nodes: Node[] = layout.boxes.flatMap((box) => {
      const task = outline.tasks.get(box.id);
      if (!task) return [];
      const data: TaskData = {
        task,
        state: shownState(task),
        version: outline.version,
        tally: tallies.get(task.id) ?? null,
        open: box.open,
        selected: task.id === selected,
        aside: critical !== null && !critical.has(task.id),
      };
      return [{ id: nodeOf(box.id), type: "task", position: { x: box.x, y: box.y }, width: box.width, height: box.height, data, ...inside(box.parent) }];
    });
    for (const bar of layout.bars)
      nodes.push({ id: bar.id, type: "bar", position: { x: bar.x, y: bar.y }, width: sizes.bar, height: bar.height, data: {}, ...inside(bar.parent) });
    return nodes;
  }, [outline, outline.version, layout, selected, critical]);
}

/** Scrolls to a task that was selected elsewhere. */
function Finder({ task }: { task: number | null }) {
  const flow = useReactFlow();
  useEffect(() => {
    const node = task === null ? undefined : flow.getInternalNode(nodeOf(task));
    if (!node) return;
    const { x, y } = node.internals.positionAbsolute;
    const view = flow.getViewport();
    const pane = document.querySelector(".react-flow")?.getBoundingClientRect();
    const [left, top] = [x * view.zoom + view.x, y * view.zoom + view.y];
    if (pane && left >= 0 && top >= 0 && left < pane.width - 80 && top < pane.height - 40) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    void flow.setCenter(x + (node.width ?? 0) / 2, y + sizes.box / 2, { zoom: Math.max(view.zoom, 0.6), duration: still ? 0 : 240 });
  }, [task, flow]);
  return null;
}

const TaskNode = memo(function TaskNode({ data }: NodeProps<Node<TaskData>>) {
  const { task, tally, open, selected, aside } = data;
  const { select, toggle } = useContext(Acts);
  return (
    <div className={css.box} data-open={open || undefined} data-selected={selected || undefined} data-aside={aside || undefined} data-look={lookOf(task.state)}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className={css.head}>
        {task.children.length > 0 && (
          <button type="button" className={css.fold} onClick={() => toggle(task.id)} aria-expanded={open} aria-label={`${open ? "Close" : "Open"} ${task.full}`}>
            {open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
          </button>
        )}
        <button type="button" className={css.name} onClick={() => select(task.id)} title={task.full} aria-current={selected || undefined}>
          <Mark state={shownState(task)} />
          <span>{labelOf(task)}</span>
          <small>{tally && !open ? <Counts tally={tally} /> : task.started > 0 && <Duration begin={task.started} end={task.state === "running" || task.state === "planned" ? 0 : task.changed} />}</small>
        </button>
      </div>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

function Counts({ tally }: { tally: Tally }) {
  return (
    <>
      {tally.failed > 0 && <b>{tally.failed} failed · </b>}
      {tally.done}/{tally.total}
    </>
  );
}

const BarNode = memo(function BarNode() {
  return (
    <div className={css.bar}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

const nodeTypes = { task: TaskNode, bar: BarNode };
