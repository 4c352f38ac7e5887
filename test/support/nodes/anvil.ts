import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createTestClient, http, publicActions, walletActions } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { mainnet } from 'viem/chains'
import { freePort } from '../ports.ts'

const require = createRequire(import.meta.url)

/** A real EVM node in a child process. */
export interface Anvil {
  readonly httpUrl: string
  readonly wsUrl: string
  /** Process id. */
  readonly pid: number
  readonly client: AnvilClient
  stop(): Promise<void>
}

/** viem client with test, public and wallet actions, signing as anvil's first account. */
export type AnvilClient = ReturnType<typeof createAnvilClient>

/** The well-known development accounts of anvil. */
export const devAccount = (index: number) =>
  mnemonicToAccount('test test test test test test test test test test test junk', {
    addressIndex: index,
  })

const createAnvilClient = (url: string) =>
  createTestClient({
    mode: 'anvil',
    chain: mainnet,
    account: devAccount(0),
    transport: http(url, { timeout: 20_000 }),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions)

const anvilBinary = (): string => {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const manifest = require.resolve(`@foundry-rs/anvil-${platform}/package.json`)
  return join(dirname(manifest), 'bin', 'anvil')
}

const waitForExit = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once('exit', () => resolve()))

/** Starts anvil as chain 1; every transaction is a block of its own unless `args` say otherwise. */
export const startAnvil = async (args: readonly string[] = []): Promise<Anvil> => {
  const port = await freePort()
  const child = spawn(
    anvilBinary(),
    [
      ...['--host', '127.0.0.1', '--port', String(port)],
      ...(args.includes('--chain-id') ? [] : ['--chain-id', '1']),
      ...['--slots-in-an-epoch', '8', '--gas-limit', '60000000', ...args],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`anvil ended with ${code}`)))
    child.stdout.on('data', (chunk: Buffer) => {
      if (String(chunk).includes('Listening on')) resolve()
    })
  })
  assert(child.pid !== undefined, 'anvil runs')
  const httpUrl = `http://127.0.0.1:${port}`
  return {
    httpUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    pid: child.pid,
    client: createAnvilClient(httpUrl),
    stop: async () => {
      child.kill('SIGTERM')
      await waitForExit(child)
    },
  }
}
