import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'
import { until } from '../support/until.ts'

interface PageWindow {
  readonly document: {
    readonly body: { readonly textContent: string | null }
    querySelectorAll(selector: string): { readonly length: number }
  }
  readonly localStorage: Readonly<Record<string, string>>
  readonly Range: { readonly prototype: Record<string, unknown> }
  close(): void
}
const require = createRequire(import.meta.url)

/** The part of jsdom that is used: its types would bring those of a browser into every file. */
const { JSDOM, VirtualConsole } = require('jsdom') as {
  readonly JSDOM: new (html: string, options: object) => { readonly window: PageWindow }
  readonly VirtualConsole: new () => {
    on(event: 'jsdomError', listener: (error: Error) => void): void
  }
}

/** What browsers send when an address is opened. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'sol'], Date.UTC(2026, 2, 1))
})
after(() => api.stop())

const open = (accept: string | undefined, path = '', init: RequestInit = {}): Promise<Response> =>
  fetch(api.url + path, { ...init, headers: { ...(accept !== undefined && { accept }) } })

test('a browser that opens the address gets GraphiQL, everyone else the API', async () => {
  const pages = [
    BROWSER,
    'text/html',
    'text/html, application/json',
    'application/json;q=0.1, text/*',
  ]
  for (const accept of pages)
    for (const path of ['', '?query={__typename}']) {
      const page = await open(accept, path)
      assert.equal(page.status, 200, accept)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(await page.text(), /<title>GraphiQL/)
      assert.match(page.headers.get('vary') ?? '', /Accept/)
    }
  for (const accept of [
    '*/*',
    'application/json',
    'application/json, text/html;q=0.9',
    undefined,
  ]) {
    const answer = await open(accept, '?query={__typename}')
    assert.equal(answer.status, 401, accept)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  }
  const posted = await open('text/html', '', { method: 'POST' })
  assert.equal(posted.status, 401)
  const headers = { accept: 'application/json', 'x-api-key': api.apiKey }
  const served = await fetch(`${api.url}?query={__typename}`, { headers })
  assert.deepEqual(await served.json(), { data: { __typename: 'ChainStream' } })
})

test('the GraphQL page loads every file from this server, under its own content security policy', async () => {
  const page = await open(BROWSER)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'.*script-src 'self'.*connect-src 'self'/)
  assert.doesNotMatch(policy, /https?:|unsafe-eval|script-src[^;]*unsafe-inline/)
  const text = await page.text()
  assert.doesNotMatch(text, /<script>|<style|\son\w+="/, 'no inline code, which the policy refuses')
  const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to ?? '')
  const loaded = named.filter((to) => !to.startsWith('data:'))
  assert.ok(loaded.length >= 5)
  for (const to of loaded) {
    assert.match(to, /^\/graphql\/[\w.-]+$/, 'an address of this server')
    const file = await fetch(api.base + to)
    assert.equal(file.status, 200, to)
    assert.match(file.headers.get('content-type') ?? '', /^text\/(css|javascript)/)
    if (to.endsWith('.css')) assert.doesNotMatch(await file.text(), /(url\(|@import)["'\s]*https?:/)
    const again = await fetch(api.base + to, { headers: { 'if-none-match': '*' } })
    assert.equal(again.status, 304, to)
  }
  const data = await fetch(api.url, { headers: { 'x-api-key': api.apiKey } })
  assert.equal(
    data.headers.get('content-security-policy')?.includes("'unsafe-inline'") ?? false,
    false,
  )
})

interface Asked {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What the scripts of the page need and jsdom has not: layout, and requests. */
const completeWindow = (window: PageWindow, asked: Asked[]): void => {
  const rectangle = { top: 0, right: 0, bottom: 0, left: 0 }
  const noop = (): void => {}
  Object.assign(window, {
    TextDecoder,
    TextEncoder,
    matchMedia: () => ({ matches: false, addListener: noop, removeListener: noop }),
    fetch: (path: string, { headers, body, method }: Asked & { readonly method: string }) => {
      asked.push({ path, headers, body })
      return fetch(new URL(path, api.url), { method, headers, body })
    },
  })
  window.Range.prototype.getBoundingClientRect = () => rectangle
  window.Range.prototype.getClientRects = () => []
}

test('the scripts of the GraphQL page start the editor and request the schema from this server', async () => {
  const asked: Asked[] = []
  const failed: Error[] = []
  const virtualConsole = new VirtualConsole()
  virtualConsole.on('jsdomError', (error) => failed.push(error))
  const query = '{ Solana { Blocks { count } } }'
  const address = `?query=${encodeURIComponent(query)}&variables=${encodeURIComponent('{"a": 7}')}`
  const { window } = new JSDOM(await (await open(BROWSER)).text(), {
    url: api.url + address,
    runScripts: 'dangerously',
    resources: 'usable',
    pretendToBeVisual: true,
    virtualConsole,
    beforeParse: (made: PageWindow) => completeWindow(made, asked),
  })
  try {
    const text = await until(() => {
      assert.deepEqual(failed, [])
      const found = window.document.body.textContent ?? ''
      return asked.length > 0 && found.includes('Blocks') ? found : undefined
    }, 'the editor shows the query of the address')
    assert.match(text, /"a": 7/)
    assert.equal(window.document.querySelectorAll('.graphiql-container').length, 1)
    const [first] = asked
    assert.equal(first?.path, '/graphql')
    assert.match(first.body, /IntrospectionQuery/)
    assert.ok('X-API-KEY' in first.headers, 'the headers of the editor go with it')
    assert.doesNotMatch(JSON.stringify({ ...window.localStorage }), /X-API-KEY/, 'no key is kept')
  } finally {
    window.close()
  }
})
