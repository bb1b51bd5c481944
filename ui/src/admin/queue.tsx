import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Empty, Loading } from "../parts/feedback";
import { Distance } from "../parts/time";
import css from "./admin.module.css";
import { type QueueName, type Queues, readQueue } from "./queries";
import { AttemptOf, tasksOf, whatOf } from "./subject";

/** How often the queue is fetched again, in milliseconds. */
const again = 5_000;

const states: Record<string, string> = { ready: "ready", later: "not due yet", leased: "is worked on", behind: "behind another message" };

/** The waiting and leased messages in the queues of all sites. */
export function Queue({ queue, onQueue }: { queue: QueueName; onQueue: (queue: QueueName) => void }) {
  const query = useInfiniteQuery({
    queryKey: ["queue", queue],
    queryFn: ({ pageParam, signal }) => readQueue(queue, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    // Once the user has loaded later messages, the list is no longer refreshed, so that it does not move.
    refetchInterval: (q) => ((q.state.data?.pages.length ?? 1) === 1 ? again : false),
    staleTime: 0,
  });
  const first = query.data?.pages[0];
  return (
    <>
      <header className={css.tools}>
        <label className={css.choose}>
          Messages of
          <select value={queue} onChange={(e) => onQueue(e.target.value as QueueName)}>
            <option value="tasks">tasks</option>
            <option value="events">events</option>
          </select>
        </label>
        <p>The queue tasks contains runs of tasks, the queue events contains changes of attempts. Both include all sites.</p>
      </header>
      {!first && <Loading query={query} rows={6} />}
      {first && <Depths queues={first} />}
      {first && query.error && <Loading query={query} />}
      {first?.messages === null && (
        <Empty>The numbers are estimates. Messages are not listed here because reading a message would hide it from the functions.</Empty>
      )}
      {first?.messages?.length === 0 && <Empty calm>No messages in {queue}.</Empty>}
      {first?.messages && first.messages.length > 0 && <Messages list={query.data!.pages.flatMap((p) => p.messages ?? [])} />}
      {query.hasNextPage && (
        <div className={css.more}>
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
      <div className={css.foot}>
        <CommandLine line={commands.queue(queue)} />
      </div>
    </>
  );
}

function Depths({ queues }: { queues: Queues }) {
  const about = queues.approximate ? "about " : "";
  return (
    <dl className={css.depths}>
      {queues.queues.map((q) => (
        <div key={q.name}>
          <dt>{q.name}</dt>
          <dd>
            <b>
              {about}
              {q.ready.toLocaleString("en")}
            </b>{" "}
            ready
            {q.oldest > 0 && (
              <>
                ; the oldest <Distance at={q.oldest} />
              </>
            )}
          </dd>
          <dd>
            {q.leased.toLocaleString("en")} in progress · {q.later.toLocaleString("en")} not due yet
            {q.behind > 0 && ` · ${q.behind.toLocaleString("en")} behind another message`}
            {q.aside !== null && ` · ${q.aside.toLocaleString("en")} dead letters`}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Messages({ list }: { list: NonNullable<Queues["messages"]> }) {
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th>Message</th>
          <th>Attempt</th>
          <th>Tasks</th>
          <th>State</th>
          <th>Since</th>
          <th>Deliveries</th>
        </tr>
      </thead>
      <tbody>
        {list.map((m) => (
          <tr key={m.name}>
            <th scope="row">{whatOf(m)}</th>
            <td data-label="Attempt" data-none={m.attempt === null || undefined}>
              <AttemptOf subject={m} />
            </td>
            <td data-label="Tasks" data-none={m.count === 0 || undefined}>{tasksOf(m) || "–"}</td>
            <td data-label="State">{states[m.state]}</td>
            <td data-label="Since" className={css.when}>
              <Distance at={m.since} />
            </td>
            <td data-label="Deliveries">{m.deliveries}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
