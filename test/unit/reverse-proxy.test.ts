import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadConfig } from '../../core/config/load.ts'

const read = (name: string): string =>
  readFileSync(new URL(`../../examples/reverse-proxy/${name}`, import.meta.url), 'utf8')

/** One directive: its words, and what stands in its braces. */
interface Directive {
  readonly words: readonly string[]
  readonly inner: readonly Directive[]
}

const TOKENS = /"[^"]*"|'[^']*'|[{};\n]|[^\s{};"']+/g

/** Reads nested directives; throws where braces do not match or a directive does not end. `end`: `;` or a new line. */
const parse = (text: string, end: ';' | '\n'): readonly Directive[] => {
  const bare = text.replace(/^\s*#.*$/gm, '')
  const tokens = [...(bare.match(TOKENS) ?? [])].filter((token) => end === '\n' || token !== '\n')
  const block = (isTop: boolean): readonly Directive[] => {
    const found: Directive[] = []
    let words: string[] = []
    for (;;) {
      const token = tokens.shift()
      if (token === undefined || token === '}') {
        assert.equal(token === undefined, isTop, 'braces match')
        assert.deepEqual(words, [], 'the last directive ends')
        return found
      }
      if (token === '{') {
        found.push({ words, inner: block(false) })
        words = []
      } else if (token === end) {
        if (words.length > 0) found.push({ words, inner: [] })
        words = []
      } else words.push(token)
    }
  }
  return block(true)
}

const flat = (directives: readonly Directive[]): readonly Directive[] =>
  directives.flatMap((each) => [each, ...flat(each.inner)])

const { port, bodyLimitBytes } = loadConfig({})
const HTTP = `127.0.0.1:${port}`
const STREAMS = `127.0.0.1:${port + 1}`

/** Settings that the first lines of an example name. */
const settings = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([A-Z_]{4,})=(\S+)/g)].map(([, key, value]) => [key, value]),
  )

test('nginx.conf: well formed, both upstreams on the default ports, the client address is forwarded', () => {
  const text = read('nginx.conf')
  const all = flat(parse(text, ';'))
  const upstreams = all
    .filter(({ words }) => words[0] === 'upstream')
    .map(({ words, inner }) => [words[1], inner[0]?.words[1]])
  assert.deepEqual(upstreams, [
    ['sluice_http', HTTP],
    ['sluice_streams', STREAMS],
  ])
  const locations = all.filter(({ words }) => words[0] === 'location')
  const targets = locations.map(({ words, inner }) => {
    const headers = inner.filter((each) => each.words[0] === 'proxy_set_header')
    assert.ok(
      headers.some((each) => each.words[1] === 'X-Forwarded-For'),
      words.join(' '),
    )
    return [words.at(-1), inner.find((each) => each.words[0] === 'proxy_pass')?.words[1]]
  })
  assert.deepEqual(targets, [
    ['/connection/websocket', 'http://sluice_streams'],
    ['/', 'http://sluice_http'],
  ])
  const body = all.find(({ words }) => words[0] === 'client_max_body_size')?.words[1]
  assert.equal(body, `${bodyLimitBytes / 1_024}k`)
  assert.equal(loadConfig(settings(text)).trustedProxies.length, 1)
})

test('Caddyfile: well formed, streams by their path, the rest to the default port', () => {
  const text = read('Caddyfile')
  const all = flat(parse(text, '\n'))
  const handled = all
    .filter(({ words }) => words[0] === 'handle')
    .map(({ words, inner }) => [words[1], inner[0]?.words.join(' ')])
  assert.deepEqual(handled, [
    ['@streams', `reverse_proxy ${STREAMS}`],
    [undefined, `reverse_proxy ${HTTP}`],
  ])
  const matcher = all.find(({ words }) => words[0] === '@streams')?.words
  assert.deepEqual(matcher, ['@streams', 'path', '/connection/websocket'])
  assert.equal(loadConfig(settings(text)).publicUrl, 'https://api.example.com')
})

test('a truncated proxy configuration is rejected by the test parser', () => {
  for (const [name, end] of [
    ['nginx.conf', ';'],
    ['Caddyfile', '\n'],
  ] as const) {
    const text = read(name)
    assert.throws(() => parse(text.slice(0, text.lastIndexOf('}')), end), /braces match/)
  }
})
