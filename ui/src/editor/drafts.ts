import type { File } from "./project";

/** What somebody has changed and not saved yet. */
export type Draft = {
  /** The revision that was changed; null for a new project. */
  revision: string | null;
  /** The name that a new project is to have. */
  project: string;
  files: File[];
};

const shelf = "drafts";

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("zerodag", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(shelf);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Does one thing with the drafts, and is done when the browser has it on its disk. */
async function use<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(shelf, mode);
      const request = act(transaction.objectStore(shelf));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** The draft under a key, null where there is none; a browser that keeps nothing has none. */
export const readDraft = (key: string): Promise<Draft | null> => use("readonly", (s) => s.get(key) as IDBRequest<Draft | undefined>).then((d) => d ?? null, () => null);

/** Keeps a draft in this browser; fails where that keeps nothing, or has no room. */
export const keepDraft = (key: string, draft: Draft): Promise<unknown> => use("readwrite", (s) => s.put(draft, key));

export const dropDraft = (key: string): Promise<unknown> => use("readwrite", (s) => s.delete(key)).catch(() => null);

/** Whose draft of which project: nobody is shown what somebody else has begun in this browser. */
export const draftKey = (session: { user: string | null; site: string | null }, project: string | null) => JSON.stringify([session.site, session.user, project]);
