import assert from 'node:assert/strict'
import { callApi, type TestApi } from './api-stack.ts'

/** One page of a list as it is served. */
export interface RestPage<Item> {
  readonly data: readonly Item[]
  readonly items: readonly Item[]
  readonly nextCursor: string
  readonly startCursor: string | null
  readonly hasNext: boolean
  readonly hasPrev: boolean
}

/** Reads over REST for one test API: each answers 200 or fails the test. */
export const createRestReader = (api: () => TestApi) => {
  const read = async <Body>(path: string): Promise<Body> => {
    const { status, body, text } = await callApi(api(), path)
    assert.equal(status, 200, `${path}: ${text}`)
    return body as Body
  }
  return {
    read,
    /** All pages of a list, forward. */
    readAll: async <Item>(path: string): Promise<readonly Item[]> => {
      const items: Item[] = []
      let cursor = ''
      do {
        const more = cursor === '' ? '' : `${path.includes('?') ? '&' : '?'}cursor=${cursor}`
        const page = await read<RestPage<Item>>(`${path}${more}`)
        assert.deepEqual(page.data, page.items)
        items.push(...page.data)
        cursor = page.nextCursor
      } while (cursor !== '')
      return items
    },
    /** Status and code of a refused call. */
    codeOf: async (path: string): Promise<readonly unknown[]> => {
      const { status, body } = await callApi(api(), path)
      return [status, (body as { readonly code: number }).code]
    },
  }
}
