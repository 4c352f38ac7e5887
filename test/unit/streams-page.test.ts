import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CHAINS } from '../../schemas/chains.ts'
import { channelRow } from '../../schemas/channels.ts'
import { parseChannel } from '../../serving/realtime/channel-name.ts'
import { validateBody } from '../../serving/realtime/command-fields.ts'
import { JSON_FRAMES } from '../../serving/realtime/json-frames.ts'
import { isObject } from '../../serving/realtime/protocol.ts'
import { createFilterCompiler, requestedFilter } from '../../serving/realtime/publication-filter.ts'
import { withChannelTables } from '../support/streams-page.ts'

const ROOT = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/streams.md', ROOT), 'utf8')
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)\\n\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  )
const filters = createFilterCompiler()

test('the channel tables of docs/streams.md match the channel rows; `npm run generate` writes them', () => {
  assert.equal(page, withChannelTables(page))
})

test('every frame in docs/streams.md is a valid command on a served channel', () => {
  const frames = blocks('json')
  assert.ok(frames.length >= 3)
  const chains = new Set(Object.keys(CHAINS))
  for (const text of frames) {
    const commands = JSON_FRAMES.parse(Buffer.from(text))
    assert.ok(commands !== undefined, text)
    for (const command of commands) {
      assert.ok(command.kind === 'call', text)
      const body = validateBody(command.method, command.body)
      assert.ok(body !== undefined, text)
      if (command.method === 'connect') continue
      const channel = parseChannel(String(body.channel), chains)
      assert.ok(!('code' in channel), String(body.channel))
      const filter = requestedFilter(body)
      assert.ok(filter !== undefined, text)
      if (filter !== '') assert.ok(filters.compile(channel.row, filter), filter)
      if (isObject(body.data) && body.data.commitment) assert.ok(channel.row.pending)
    }
  }
})

test('every filter in docs/streams.md compiles for trades', () => {
  const shown = blocks('cel')
  assert.ok(shown.length >= 3)
  for (const text of shown) assert.ok(filters.compile(channelRow('dex-trade'), text), text)
})

test('every numbered promise of docs/streams.md has a test with its number', () => {
  const promised = [...page.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))
  assert.deepEqual(
    promised,
    Array.from({ length: 61 }, (_, at) => at + 1),
  )
  const titles = ['unit', 'contract'].flatMap((tier) =>
    readdirSync(new URL(`test/${tier}/`, ROOT)).flatMap((name) => [
      ...readFileSync(new URL(`test/${tier}/${name}`, ROOT), 'utf8').matchAll(
        /\btest\(\s*(['"`])([^\n]*?)\1,/g,
      ),
    ]),
  )
  const shown = titles.flatMap(([, , title = '']) =>
    [...title.matchAll(/ \[(\d+)\]/g)].map(([, number]) => Number(number)),
  )
  assert.deepEqual(
    promised.filter((number) => !shown.includes(number)),
    [],
  )
})
