import type { File } from "./project";

/** Unsaved changes of a user. */
export type Draft = {
  /** The revision that was edited; null for a new project. */
  revision: string | null;
  /** The name of a new project. */
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

/** Runs one operation on the drafts, and resolves once the browser has stored it on disk. */
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

/** The draft under a key, or null; also null if the browser stores nothing. */
export const readDraft = (key: string): Promise<Draft | null> => use("readonly", (s) => s.get(key) as IDBRequest<Draft | undefined>).then((d) => d ?? null, () => null);

/** Stores a draft in this browser; fails if the browser stores nothing or has no space. */
export const keepDraft = (key: string, draft: Draft): Promise<unknown> => use("readwrite", (s) => s.put(draft, key));

export const dropDraft = (key: string): Promise<unknown> => use("readwrite", (s) => s.delete(key)).catch(() => null);

/** The user and project of a draft: drafts are not shown to other users of this browser. */
export const draftKey = (session: { user: string | null; site: string | null }, project: string | null) => JSON.stringify([session.site, session.user, project]);
