import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Block, createPublicClient, type Hex, http, parseAbi, webSocket } from 'viem'
import { mainnet } from 'viem/chains'
import WebSocket from 'ws'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Simulator, startSimulator } from '../../simulator/start.ts'
import { until } from '../support/until.ts'

const GENESIS_MS = 1_735_689_600_000
const ERC20 = parseAbi([
  'function name() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
])

let height = 90
let node: Simulator

before(async () => {
  node = await startSimulator({
    chain: 'eth',
    seed: 3,
    ratePerSecond: 1,
    genesisMs: GENESIS_MS + 400,
    nowMs: () => GENESIS_MS + height * 12_000,
    log: makeSilentLogger(),
  })
})
after(() => node.stop())

const clients = () => {
  const chain = mainnet
  const socket = createPublicClient({ chain, transport: webSocket(node.wsUrl) })
  return { plain: createPublicClient({ chain, transport: http(node.httpUrl) }), socket }
}

const post = async (body: string): Promise<{ status: number; text: string }> => {
  const response = await fetch(node.httpUrl, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}
const ask = async (method: string, params: unknown[] = []): Promise<Record<string, unknown>> =>
  JSON.parse((await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))).text)
const codeOf = (answer: unknown): unknown =>
  (answer as { error?: { code?: unknown } }).error?.code ?? answer

test('a stock client reads blocks by number, tag and hash, over both transports', async () => {
  const { plain, socket } = clients()
  for (const client of [plain, socket]) {
    assert.equal(await client.getChainId(), 1)
    assert.equal(await client.getBlockNumber({ cacheTime: 0 }), 90n)
    const latest = await client.getBlock({ includeTransactions: true })
    const byHash = await client.getBlock({ blockHash: latest.hash })
    assert.equal(byHash.number, 90n)
    assert.deepEqual(
      byHash.transactions,
      latest.transactions.map(({ hash }) => hash),
    )
    assert.equal((await client.getBlock({ blockTag: 'safe' })).number, 58n)
    assert.equal((await client.getBlock({ blockTag: 'finalized' })).number, 26n)
    const genesis = await client.getBlock({ blockTag: 'earliest' })
    assert.equal(genesis.hash, node.genesisHash)
    assert.equal(Number(genesis.timestamp) * 1_000, GENESIS_MS)
  }
  await (await socket.transport.getRpcClient()).close()
})

test('receipts, logs and transactions agree', async () => {
  const { plain } = clients()
  const block = await plain.getBlock({ includeTransactions: true })
  const { result } = await ask('eth_getBlockReceipts', [block.hash])
  const receipts = result as { transactionHash: Hex; logs: { logIndex: Hex }[] }[]
  assert.deepEqual(
    receipts.map(({ transactionHash }) => transactionHash),
    block.transactions.map(({ hash }) => hash),
  )
  const logs = await plain.getLogs({ blockHash: block.hash })
  assert.deepEqual(
    logs.map(({ logIndex }) => logIndex),
    receipts.flatMap((receipt) => receipt.logs.map(({ logIndex }) => Number(logIndex))),
  )
  const range = await plain.getLogs({ fromBlock: 80n, toBlock: 90n, event: undefined })
  assert.ok(range.length > logs.length)
  const { txHash, pool, wallet } = node.examples
  const example = await plain.getTransactionReceipt({ hash: txHash as Hex })
  assert.equal(example.status, 'success')
  assert.equal(example.from, wallet)
  assert.ok(example.logs.some(({ address }) => address === pool))
  assert.equal((await plain.getTransaction({ hash: txHash as Hex })).hash, txHash)
})

test('eth_call returns the state of the requested block', async () => {
  const { plain } = clients()
  const [weth, usdc] = node.extra.quotes
  const address = (usdc?.address ?? '') as Hex
  const read = { address, abi: ERC20 } as const
  assert.equal(await plain.readContract({ ...read, functionName: 'decimals' }), 6)
  assert.equal(await plain.readContract({ ...read, functionName: 'name' }), 'USD Coin')
  const supply = (blockNumber: bigint) =>
    plain.readContract({
      address: (weth?.address ?? '') as Hex,
      abi: ERC20,
      functionName: 'totalSupply',
      blockNumber,
    })
  assert.notEqual(await supply(20n), await supply(90n))
  await assert.rejects(supply(0n), /returned no data/)
  const call = { to: address, data: '0x313ce567' }
  const { hash } = await plain.getBlock({ blockNumber: 40n })
  assert.equal(
    (await ask('eth_call', [call, { blockHash: hash }])).result,
    `0x${'6'.padStart(64, '0')}`,
  )
  const unknown = await ask('eth_call', [call, { blockHash: `0x${'1'.repeat(64)}` }])
  assert.deepEqual(unknown.error, { code: -32000, message: 'header not found' })
  const reverted = await ask('eth_call', [{ to: address, data: '0xdeadbeef' }, 'latest'])
  assert.deepEqual(reverted.error, { code: 3, message: 'execution reverted', data: '0x' })
  assert.notEqual(await plain.getCode({ address }), undefined)
  assert.equal(await plain.getCode({ address: `0x${'12'.repeat(20)}` }), undefined)
})

test('a watcher is notified of every block, and of a reorg and the way back', async () => {
  const { socket } = clients()
  const heads: Block[] = []
  const stop = socket.watchBlocks({ onBlock: (block) => heads.push(block) })
  await until(() => socket.transport.getRpcClient().then((rpc) => rpc.subscriptions.size === 1))
  height = 92
  await until(() => heads.length === 2, 'two heads')
  node.reorg(2)
  await until(() => heads.length === 4, 'two other blocks')
  height = 93
  await until(() => heads.length === 7, 'the canonical blocks again')
  assert.deepEqual(
    heads.map(({ number }) => Number(number)),
    [91, 92, 91, 92, 91, 92, 93],
  )
  const hashes = heads.map(({ hash }) => hash)
  assert.deepEqual(hashes.slice(4, 6), hashes.slice(0, 2))
  assert.notEqual(hashes[2], hashes[0])
  assert.equal(heads[6]?.parentHash, hashes[5])
  const orphan = { blockHash: hashes[3] }
  const call = { to: node.extra.quotes[1]?.address, data: '0x313ce567' }
  assert.notEqual((await ask('eth_call', [call, orphan])).result, undefined)
  const strict = await ask('eth_call', [call, { ...orphan, requireCanonical: true }])
  assert.equal(codeOf(strict), -32000)
  stop()
  await (await socket.transport.getRpcClient()).close()
})

test('invalid JSON-RPC requests to the simulated node get the error codes of a real one', async () => {
  assert.equal(codeOf(JSON.parse((await post('{')).text)), -32700)
  assert.equal(codeOf(JSON.parse((await post('[]')).text)), -32600)
  assert.equal(codeOf(JSON.parse((await post('7')).text)), -32600)
  assert.equal(codeOf(await ask('eth_mine')), -32601)
  assert.equal(codeOf(await ask('constructor')), -32601)
  assert.equal(codeOf(await ask('eth_subscribe', ['newHeads'])), -32601)
  for (const [method, params] of [
    ['eth_getBlockByNumber', []],
    ['eth_getBlockByNumber', ['0x01', false]],
    ['eth_getBlockByNumber', ['newest', false]],
    ['eth_getBlockByNumber', ['latest', 'yes']],
    ['eth_getBlockByHash', ['0x12', false]],
    ['eth_getBlockReceipts', [{ blockHash: 3 }]],
    ['eth_call', ['0x', 'latest']],
    ['eth_call', [{ to: '0x12' }, 'latest']],
    ['eth_getLogs', [{ topics: 'x' }]],
    ['eth_getLogs', [{ fromBlock: '0x9', toBlock: '0x8' }]],
    ['eth_getBalance', ['0x']],
  ] as const)
    assert.equal(codeOf(await ask(method, [...params])), -32602, `${method} ${params}`)
  assert.equal((await ask('eth_getBlockByNumber', ['0xffffff', false])).result, null)
  assert.equal((await ask('eth_getTransactionReceipt', [`0x${'2'.repeat(64)}`])).result, null)
  const batch = await post('[{"jsonrpc":"2.0","id":"a","method":"eth_chainId"},5]')
  assert.match(batch.text, /^\[\{"jsonrpc":"2.0","id":"a","result":"0x1"\},\{.*-32600/)
  const many = JSON.stringify(
    new Array(1_001).fill({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' }),
  )
  assert.equal(codeOf(JSON.parse((await post(many)).text)), -32600)
  const large = await post('x'.repeat(1_100_000)).catch((error: unknown) => error)
  assert.ok(large instanceof Error || (large as { status: number }).status === 413)
  assert.equal((await fetch(node.httpUrl, { method: 'PUT' })).status, 405)
  assert.equal((await ask('eth_blockNumber')).result, '0x5d')
})

test('a socket takes subscriptions and refuses the rest', async () => {
  const socket = new WebSocket(node.wsUrl)
  const answers: Record<string, unknown>[] = []
  socket.on('message', (data) => answers.push(JSON.parse(data.toString())))
  await new Promise((done) => socket.once('open', done))
  const say = async (text: string): Promise<Record<string, unknown>> => {
    const at = answers.length
    socket.send(text)
    return until(() => answers[at], text)
  }
  const call = (method: string, params: unknown[]) =>
    say(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  assert.equal(codeOf(await say('nonsense')), -32700)
  assert.equal(codeOf(await call('eth_subscribe', ['syncing'])), -32602)
  assert.equal(codeOf(await call('eth_unsubscribe', ['0x1'])), -32000)
  const { result } = await call('eth_subscribe', ['newHeads'])
  assert.match(String(result), /^0x[0-9a-f]{32}$/)
  assert.equal((await call('eth_unsubscribe', [result])).result, true)
  socket.terminate()
})

test('no response of the simulated EVM node names it as simulated', async () => {
  const said = await Promise.all([
    ask('web3_clientVersion'),
    ask('eth_getBlockByNumber', ['latest', true]),
    ask('eth_getBlockReceipts', ['latest']),
    ask('eth_foo'),
  ])
  assert.doesNotMatch(JSON.stringify(said), /simulat/i)
})
