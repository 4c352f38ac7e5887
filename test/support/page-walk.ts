import assert from 'node:assert/strict'

/** An item of a list as it is served. */
export type ListItem = Readonly<Record<string, unknown>>

/** A page of any list. */
export interface ListPage {
  readonly items: readonly ListItem[]
  readonly nextCursor: string
}

/** A list that is paged through while rows arrive. */
export interface PagedList {
  /** With a query, which holds a small `limit`. */
  readonly path: string
  readonly idOf: (item: ListItem) => string
  /** Reads a page; fails where it is not served. */
  readonly read: (path: string) => Promise<ListPage>
  /** Makes one more row; called between pages. */
  readonly arrive: () => Promise<unknown>
  /** Default: what most lists allow. */
  readonly largestLimit?: number
}

const LARGEST_LIMIT = 100

/** A path with a cursor; none for the first page. */
export const withCursor = (path: string, cursor: string): string =>
  `${path}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`

/** Ids of all pages in their order, while rows arrive; no id comes twice. */
export const walkPages = async ({
  path,
  idOf,
  read,
  arrive,
}: PagedList): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const page = await read(withCursor(path, cursor))
    ids.push(...page.items.map(idOf))
    if (page.nextCursor === '') break
    assert.notEqual(page.nextCursor, cursor)
    cursor = page.nextCursor
    await arrive()
  }
  assert.equal(new Set(ids).size, ids.length, `${path}: nothing comes twice`)
  return ids
}

/** The list in large pages while nothing arrives. */
export const readAtRest = (list: PagedList): Promise<readonly string[]> =>
  walkPages({
    ...list,
    path: list.path.replace(/limit=\d+/, `limit=${list.largestLimit ?? LARGEST_LIMIT}`),
    arrive: async () => undefined,
  })

/** What was there from the start comes exactly once, in the order of the list at rest; gives that order. */
export const assertWhole = async (
  list: PagedList,
  known: ReadonlySet<string>,
): Promise<readonly string[]> => {
  const ids = (await walkPages(list)).filter((id) => known.has(id))
  assert.equal(ids.length, known.size, `${list.path}: all that was there`)
  const expected = (await readAtRest(list)).filter((id) => known.has(id))
  assert.deepEqual(ids, expected, `${list.path}: in order`)
  return ids
}

interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      { readonly get?: { readonly parameters?: readonly { readonly name: string }[] } }
    >
  >
}

/** Paths of the lists of an API document: those that take a cursor. */
export const pagedPaths = (document: unknown): readonly string[] =>
  Object.entries((document as ApiDocument).paths)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'cursor'))
    .map(([path]) => path)
    .toSorted()
