import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/ports.ts'
import { PROCESS_LIMIT_MS, until } from '../support/until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'sluice-start-'))
const children = new Set<ChildProcess>()
// What a failed test leaves running would hold the folder of the next.
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await until(() => children.size === 0, 'no process of a test is left')
})
after(() => {
  rmSync(scratch, { recursive: true, force: true })
})

interface Demo {
  readonly baseUrl: string
  readonly graphqlUrl: string
  readonly wsUrl: string
  readonly apiKey: string
  readonly origin: string
  readonly examples: Readonly<Record<'chain' | 'token' | 'pool' | 'wallet' | 'txHash', string>>
}

/** `sluice WORDS` as a child; what it prints is collected. */
const runSluice = (env: NodeJS.ProcessEnv, words: readonly string[]) => {
  const child = spawn(process.execPath, ['cli/bin.js', ...words], { cwd: ROOT, env })
  children.add(child)
  const out = { text: '', errors: '' }
  child.stdout.on('data', (chunk) => {
    out.text += chunk
  })
  child.stderr.on('data', (chunk) => {
    out.errors += chunk
  })
  const exit = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => {
      children.delete(child)
      resolve(code)
    }),
  )
  return { child, out, exit }
}

const sluice = (...words: string[]) => runSluice(process.env, words)

const start = async (folder: string, port: number, env = process.env) => {
  const started = runSluice(env, ['start', '--data', folder, '--port', String(port)])
  await until(
    () => {
      if (started.child.exitCode !== null) throw new Error(`ended: ${started.out.errors}`)
      return started.out.text.includes('Ctrl-C')
    },
    'the welcome is printed',
    PROCESS_LIMIT_MS,
  )
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo
  return { ...started, demo }
}

/** Two free ports side by side. */
const portPair = async (): Promise<number> => {
  const port = await freePort()
  return port < 65_000 ? port : portPair()
}

const countTrades = async ({ graphqlUrl, apiKey }: Demo) => {
  const query =
    '{ EVM(network: eth) { DEXTrades(where: {any: [{IsSuspect: true}, {IsSuspect: false}]}) { count uniq(of: Block_Height) } } }'
  const response = await fetch(graphqlUrl, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data } = (await response.json()) as {
    data: { EVM: { DEXTrades: [{ count: number; uniq: number }] } }
  }
  return data.EVM.DEXTrades[0]
}

test('the first start in a new folder prints commands that run as printed', async () => {
  const folder = join(scratch, 'first')
  // As a user starts it: sources are loaded as a clone loads them, not as a test run prepares them.
  const { NODE_OPTIONS: _, ...environment } = process.env
  const { child, exit, out } = await start(folder, await portPair(), environment)
  const commands = () => out.text.split('\n').filter((line) => line.startsWith('curl '))
  // A chain that has nothing to show in the first minute, on a busy machine, is told of later.
  await until(() => commands().length >= 8, 'both chains have commands', PROCESS_LIMIT_MS)
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo
  assert.match(out.text, /SIMULATED/)
  assert.match(demo.origin, /SIMULATED/)
  assert.equal(statSync(join(folder, 'demo.json')).mode & 0o777, 0o600)
  const pasted = commands()
  assert.equal(pasted.length, 8)
  for (const line of pasted) {
    const { stdout, status } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
    assert.equal(status, 0, line)
    const body = JSON.parse(stdout)
    const group = body.data?.EVM ?? body.data?.Solana
    const rows = Array.isArray(body) ? body : (group?.DEXTrades ?? body.data)
    assert.ok(rows.length > 0, `${line} answers something: ${stdout.slice(0, 300)}`)
  }
  const tail = sluice('tail', 'eth.dex.trades.processed', '--data', folder, '--limit', '2')
  assert.equal(await tail.exit, 0, tail.out.errors)
  const [record] = tail.out.text.split('\n')
  assert.equal(JSON.parse(record ?? '').topic, 'eth.dex.trades.processed')
  const channel = `dex-candle:sol_${demo.examples.token}_1m`
  const stream = sluice('listen', channel, '--data', folder, '--limit', '1')
  assert.equal(await stream.exit, 0, stream.out.errors)
  assert.equal(JSON.parse(stream.out.text.split('\n')[0] ?? '').channel, channel)
  const { examples, baseUrl, apiKey } = demo
  assert.equal(examples.chain, 'sol')
  const token = await fetch(`${baseUrl}/v1/token/${examples.chain}/${examples.token}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  assert.equal(token.status, 200)
  assert.match(token.headers.get('x-chain-head') ?? '', /^\d+;time=\d+$/)
  child.kill('SIGINT')
  assert.equal(await exit, 0)
})

test('a second start continues at the position of the first, and stops on SIGTERM', async () => {
  const { demo, child, exit } = await start(join(scratch, 'first'), await portPair())
  const before = await countTrades(demo)
  assert.ok(before.count > 500, `${before.count} trades are there again`)
  child.kill('SIGTERM')
  assert.equal(await exit, 0)
})

test('SIGTERM during the start ends the process before anything is announced', async () => {
  const folder = join(scratch, 'interrupted')
  const { child, out, exit } = sluice('start', '--data', folder, '--port', String(await portPair()))
  await until(
    () => existsSync(join(folder, 'origin.json')),
    'it has begun to start',
    PROCESS_LIMIT_MS,
  )
  child.kill('SIGTERM')
  assert.equal(await exit, 0, out.errors)
  assert.doesNotMatch(out.text, /Sluice is running/)
})

test('same seed, rate and genesis: the same trades, whoever was killed on the way', async () => {
  const words = [
    '--seed',
    '5',
    '--rate',
    '4',
    '--genesis',
    '2026-02-01T00:00:00Z',
    '--until',
    '5m',
    '--simulate',
    'ethereum',
  ]
  const contents: string[][] = []
  for (const name of ['one', 'two']) {
    const folder = join(scratch, name)
    const port = String(await portPair())
    const run = sluice('start', '--data', folder, '--port', port, ...words)
    if (name === 'two') {
      await until(
        () => statSync(join(folder, 'log', 'data.mdb')).size > 1_000_000,
        'something is in the log',
        PROCESS_LIMIT_MS,
      )
      run.child.kill('SIGKILL')
      await run.exit
      const rest = sluice('start', '--data', folder, '--port', port, ...words)
      assert.equal(await rest.exit, 0, rest.out.errors)
    } else assert.equal(await run.exit, 0, run.out.errors)
    const tail = sluice('tail', 'eth.dex.trades.processed', '--data', folder, '--back', '1000000')
    assert.equal(await tail.exit, 0)
    const again = sluice('start', '--data', folder, '--port', port, ...words)
    assert.equal(await again.exit, 0, 'at once, because it already is there')
    contents.push(
      tail.out.text
        .split('\n')
        .filter((line) => line !== '')
        .flatMap((line) =>
          JSON.parse(line).value.events.map((event: object) => JSON.stringify(event)),
        )
        .sort(),
    )
  }
  const [one = [], two = []] = contents
  assert.ok(one.length > 500, `${one.length} trades`)
  assert.deepEqual(two, one)
})

test('a folder refuses another origin, a second process and wrong options, each in one line', async () => {
  const folder = join(scratch, 'first')
  const port = String(await portPair())
  const other = sluice('start', '--data', folder, '--port', port, '--seed', '99')
  assert.equal(await other.exit, 1)
  assert.match(other.out.errors, /holds simulated sol,eth, seed 1/)
  const running = await start(folder, Number(port))
  const beside = sluice('start', '--data', folder, '--port', String(Number(port) + 2))
  assert.equal(await beside.exit, 1)
  assert.match(beside.out.errors, /in use by process \d+/)
  running.child.kill('SIGINT')
  assert.equal(await running.exit, 0)
  const wrong = sluice('start', '--rate', 'fast', '--until', 'later')
  assert.equal(await wrong.exit, 1)
  assert.match(wrong.out.errors, /--rate.*\n.*--until/)
})
