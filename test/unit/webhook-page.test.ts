import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { CreateWebhook, RecoverWebhook } from '../../schemas/api/webhook.ts'
import { payloadSchema } from '../../schemas/api/webhook-payloads.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { ROUTE_MILLI_UNITS } from '../../schemas/plans.ts'
import { channelKind, kindRow, WEBHOOK_KIND_NAMES } from '../../schemas/webhooks.ts'
import { compileFilter } from '../../serving/webhooks/filter.ts'
import { generateSecret, signatureHeaders } from '../../serving/webhooks/signature.ts'

const PAGE = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')

const blocks = (language: string): readonly string[] =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text = '']) => text,
  )

const fits = (schema: object, value: unknown): boolean =>
  new Ajv2020({ strict: false }).compile(schema)(value)

test('the verification code of the webhooks page accepts signed messages only', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'))
  try {
    const file = join(folder, 'verify.mjs')
    writeFileSync(file, blocks('js').join('\n'))
    const { verify } = (await import(pathToFileURL(file).href)) as {
      readonly verify: (...given: readonly unknown[]) => boolean
    }
    const secrets = [generateSecret(), generateSecret()]
    const [current = '', old = ''] = secrets
    const nowMs = Date.now()
    const body = '{"channel":"sol.token.created"}'
    const headers = signatureHeaders({
      id: 'msg_1',
      body,
      secrets,
      nowMs,
      legacy: true,
      svix: true,
    })
    assert.ok(verify(current, headers, body))
    assert.ok(verify(old, headers, body), 'while a rotated secret lasts')
    assert.ok(!verify(generateSecret(), headers, body))
    assert.ok(!verify(current, headers, `${body} `))
    assert.ok(!verify(current, { ...headers, 'webhook-id': 'msg_2' }, body))
    assert.ok(!verify(current, headers, body, nowMs + 301_000))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('bodies, payloads and commands of the webhooks page are those the service accepts and sends', () => {
  const [create, payload, window, ...others] = blocks('json').map((text) => JSON.parse(text))
  assert.deepEqual(others, [])
  assert.ok(fits(CreateWebhook, create))
  assert.ok(fits(payloadSchema(channelKind(payload.channel)), payload))
  assert.ok(fits(RecoverWebhook, window))
  const commands = blocks('sh').join('')
  const bodies = [...commands.matchAll(/-d '([^']*)'/g)].map(([, text = '']) => JSON.parse(text))
  assert.ok(fits(CreateWebhook, bodies[0]))
  assert.equal(bodies.length, 2)
  const filters = blocks('text').flatMap((text) => text.trim().split('\n'))
  assert.equal(filters.length, 4)
  for (const filter of [...filters, create.filter]) assert.ok(compileFilter(filter), filter)
})

test('the page names every chain, kind, need and key, and every route is one that is served', () => {
  for (const chain of Object.keys(CHAINS)) assert.ok(PAGE.includes(`\`${chain}\``), chain)
  for (const kind of WEBHOOK_KIND_NAMES) {
    const { keys, needs } = kindRow(kind)
    const list = Object.entries(keys).map(([key, { long }]) => `\`${key}\` ${long}`)
    assert.ok(PAGE.includes(`| \`${kind}\` | ${list.join(', ')} |`), kind)
    const named = {
      nothing: 'nothing',
      subjects: '`subjects`',
      'subjects-or-filter': '`subjects` or `filter`',
      'price-levels': '`priceLevels`',
    }[needs]
    assert.match(PAGE, new RegExp(`\\| \`${kind}\` \\| [^|]+ \\| ${named} \\|`), kind)
  }
  const routes = [...PAGE.matchAll(/`(GET|POST) \/v2([^`]+)`/g)].map(
    ([, method, path = '']) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  )
  assert.ok(routes.length >= 7)
  for (const route of routes) assert.ok(Object.hasOwn(ROUTE_MILLI_UNITS, route), route)
})
