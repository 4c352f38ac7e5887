/** Every list of the API document, paged through with amounts above 2^53, equal sort keys and rows that arrive meanwhile. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { readSignInToken } from '../../serving/auth/siwx.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { assertWhole, type ListItem, type ListPage, pagedPaths } from '../support/page-walk.ts'
import { HEAD_MS, STORED_LISTS, type TableRows } from '../support/paged-lists.ts'
import { evmWallet, signInMessage, signInToken } from '../support/wallet-signer.ts'

let api: TestApi
before(async () => {
  api = await startApi({ chains: ['eth', 'polygon'], overrides: { webhookEndpoints: 1_000 } })
})
after(() => api.stop())

const read = async (path: string): Promise<ListPage> => {
  const { status, body, text } = await callApi(api, `/v2${path}`)
  assert.equal(status, 200, `${path}: ${text}`)
  return body as ListPage
}

/** Reads a list whose envelope has its items and its cursor under names of its own. */
const readField =
  (field: string) =>
  async (path: string): Promise<ListPage> => {
    const page = (await read(path)) as unknown as Readonly<Record<string, unknown>>
    return {
      items: page[field] as readonly ListItem[],
      nextCursor: String(page.cursor ?? page.nextCursor ?? ''),
    }
  }

const insert = async (tables: readonly TableRows[]): Promise<void> => {
  for (const { table, rows } of tables) await api.warehouse.insert(table, rows)
}

const create = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
  const headers = { 'x-api-key': api.apiKey, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await callApi(api, path, init)
  assert.equal(answer.status, 200, answer.text)
  return answer.body as Readonly<Record<string, unknown>>
}

const createEndpoint = async (): Promise<string> =>
  String((await create('/v2/webhook/endpoint', { url: 'https://receiver.example.com/' })).id)
const createKey = async (): Promise<string> => String((await create('/v2/account/keys', {})).keyId)

let wallets = 0
const linkWallet = async (): Promise<string> => {
  const wallet = evmWallet(++wallets)
  const fields = {
    domain: 'api.test',
    uri: 'https://api.test',
    issuedAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
  }
  const rules = { domains: ['api.test'], origins: ['https://api.test'], maxLifetimeMs: 86_400_000 }
  const token = await signInToken(wallet, signInMessage(wallet, fields))
  const claim = readSignInToken(token, rules, Date.now())
  const owner = await api.organizations.guard.identify({ apiKey: api.apiKey })
  assert.ok(typeof claim !== 'string' && owner !== undefined && !(owner instanceof Fault))
  const by = { actor: 'test', address: '', requestId: '' }
  return (await api.organizations.walletsAs(by).link(owner, claim)).address
}

const MESSAGE = `msg_${'0'.repeat(26)}`
const attemptAt = (endpoint: string, message: (n: number) => string) => {
  let last = 0
  return async (): Promise<string> => {
    last += 1
    const id = `att_${String((last * 7_919) % 10_007).padStart(26, '0')}`
    const shown = {
      id,
      message_id: message(last),
      endpoint_id: endpoint,
      org_id: 'org',
      url: 'https://x',
    }
    const state = { channel: 'sol.token.created', status: 'fail', trigger: 'scheduled', attempt: 1 }
    const times = {
      at: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, `.00${last % 2}`),
    }
    await insert([
      {
        table: 'webhook_attempts',
        rows: [{ ...shown, ...state, ...times, _ver: 1, next_at: new Date(0).toISOString() }],
      },
    ])
    return id
  }
}

interface CreatedList {
  readonly path: string
  readonly idOf: (item: ListItem) => string
  /** Makes one more row and gives its id. */
  readonly add: () => Promise<string>
}

const idField = (name: string) => (item: ListItem) => String(item[name])

/** Lists of what callers make, by the path of their route behind the version. */
const CREATED_LISTS: Readonly<Record<string, () => Promise<readonly CreatedList[]>>> = {
  '/account/keys': async () => [
    { path: '/account/keys?limit=4', idOf: idField('keyId'), add: createKey },
  ],
  '/account/wallets': async () => [
    { path: '/account/wallets?limit=4', idOf: idField('address'), add: linkWallet },
  ],
  '/webhook/endpoint': async () =>
    ['ascending', 'descending'].map((order) => ({
      path: `/webhook/endpoint?limit=4&order=${order}`,
      idOf: idField('id'),
      add: createEndpoint,
    })),
  '/webhook/endpoint/{id}/attempt': async () => {
    const endpoint = await createEndpoint()
    const add = attemptAt(endpoint, () => MESSAGE)
    return [{ path: `/webhook/endpoint/${endpoint}/attempt?limit=4`, idOf: idField('id'), add }]
  },
  '/webhook/message/{msgId}/attempt': async () => {
    const add = attemptAt(await createEndpoint(), () => MESSAGE.replace('0', '1'))
    const path = `/webhook/message/${MESSAGE.replace('0', '1')}/attempt?limit=4`
    return [{ path, idOf: idField('id'), add }]
  },
  '/webhook/endpoint/{id}/message': async () => {
    const endpoint = await createEndpoint()
    const add = attemptAt(endpoint, (n) => `msg_${String(n).padStart(26, '0')}`)
    const idOf = ({ lastAttempt }: ListItem) => String((lastAttempt as ListItem).id)
    return [{ path: `/webhook/endpoint/${endpoint}/message?limit=4`, idOf, add }]
  },
}

/** Lists of the program itself: nothing arrives. */
const FIXED_LISTS: Readonly<Record<string, CreatedList>> = {
  '/dex': {
    path: '/dex?limit=4',
    idOf: ({ chain, programAddress, protocolName }) => `${chain} ${programAddress} ${protocolName}`,
    add: async () => '',
  },
}

test('every paged list of the API document is covered by the tests of this file', async () => {
  const { body } = await callApi(api, '/openapi.json')
  const paged = pagedPaths(body).map((path) => path.replace(/^\/v\d+/, ''))
  const tested = [STORED_LISTS, CREATED_LISTS, FIXED_LISTS].flatMap(Object.keys)
  assert.deepEqual([...new Set(paged)].toSorted(), tested.toSorted())
})

const TABLES = [
  ...new Set(
    Object.values(STORED_LISTS).flatMap(({ setup = [], row }) =>
      [...setup, ...row(0).tables, ...row(1).tables].map(({ table }) => table),
    ),
  ),
]
const ITEMS = 23

beforeEach(async () => {
  for (const table of [
    ...TABLES,
    'eth_dex_trades_enriched',
    'eth_dex_trades_by_wallet',
    'eth_liquidity_changes',
    'eth_token_traders',
    'eth_token_pools',
    'eth_tokens_by_dev',
    'eth_redpacket_creations',
    'eth_blocks',
  ]) {
    await api.warehouse.command(`TRUNCATE TABLE ${table}`)
  }
  await insert([
    {
      table: 'eth_blocks',
      rows: [
        {
          block_time: new Date(HEAD_MS).toISOString(),
          block_slot: 9_999,
          block_height: 9_999,
          block_hash: '0xhead',
          commitment: 'CONFIRMED',
          _ver: 1,
        },
      ],
    },
  ])
})

for (const [route, { paths, id, field, setup = [], row, largestLimit }] of Object.entries(
  STORED_LISTS,
)) {
  test(`${route}: each row once and in order`, async () => {
    await insert(setup)
    let last = 0
    const add = async (): Promise<string> => {
      const { id: served, tables } = row(last++)
      await insert(tables)
      return String(served)
    }
    const known = new Set<string>()
    while (known.size < ITEMS) known.add(await add())
    for (const path of paths) {
      const list = {
        path,
        idOf: idField(id),
        arrive: add,
        read: field === undefined ? read : readField(field),
      }
      await assertWhole({ ...list, ...(largestLimit && { largestLimit }) }, known)
    }
  })
}

for (const [route, lists] of Object.entries(CREATED_LISTS)) {
  test(`${route}: each row once and in order`, async () => {
    for (const { path, idOf, add } of await lists()) {
      const known = new Set<string>()
      while (known.size < 11) known.add(await add())
      await assertWhole({ path, idOf, read, arrive: add }, known)
    }
  })
}

for (const [route, { path, idOf, add }] of Object.entries(FIXED_LISTS)) {
  test(`${route}: each row once and in order`, async () => {
    const { items } = await read(path.replace(/limit=\d+/, 'limit=100'))
    assert.ok(items.length > 4)
    await assertWhole({ path, idOf, read, arrive: add }, new Set(items.map(idOf)))
  })
}
