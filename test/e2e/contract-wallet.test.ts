import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { contractWallet, deployWallet, undeployed } from '../support/nodes/contract-wallets.ts'
import { freePort } from '../support/ports.ts'
import { type SluiceProcess, startSluice } from '../support/sluice-process.ts'
import { PROCESS_LIMIT_MS, until } from '../support/until.ts'
import { evmWallet, signInMessage, type TestWallet } from '../support/wallet-signer.ts'

interface Demo {
  readonly baseUrl: string
  readonly apiKey: string
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-wallet-'))
let anvil: Anvil
let product: SluiceProcess
before(async () => {
  anvil = await startAnvil(['--chain-id', '8453'])
  const port = String(await freePort())
  product = startSluice(['start', '--simulate', 'sol', '--port', port, '--data', folder], {
    RPC_URLS_BASE: anvil.httpUrl,
  })
})
after(async () => {
  await product.kill('SIGTERM')
  await anvil.stop()
  rmSync(folder, { recursive: true, force: true })
})

const readDemo = (): Demo => JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo

test('sluice start verifies contract wallets at the node of RPC_URLS_BASE', async () => {
  const demo = await until(() => readDemo(), 'demo.json', PROCESS_LIMIT_MS)
  const { host, origin } = new URL(demo.baseUrl)
  const sign = async (wallet: TestWallet) => {
    const now = Date.now()
    const message = signInMessage(wallet, {
      domain: host,
      uri: origin,
      issuedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + 3_600_000).toISOString(),
    })
    return { message, signature: await wallet.sign(message) }
  }
  const link = async (wallet: TestWallet): Promise<number> => {
    const { kind: chain, address } = wallet
    const answer = await fetch(`${origin}/x402/link-address`, {
      method: 'POST',
      headers: { 'x-api-key': demo.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ chain, address, ...(await sign(wallet)) }),
    })
    return answer.status
  }
  const signIn = async (wallet: TestWallet): Promise<number> => {
    const { message, signature } = await sign(wallet)
    const authorization = `SIWX ${btoa(message)}.${signature}`
    const answer = await fetch(`${origin}/v2/account/plan`, { headers: { authorization } })
    return answer.status
  }
  const [made, planned] = [contractWallet(evmWallet(0x51)), contractWallet(evmWallet(0x52))]
  await deployWallet(anvil.client, made)
  for (const wallet of [made, undeployed(planned)]) {
    assert.equal(await link(wallet), 200)
    assert.equal(await signIn(wallet), 200)
    assert.equal(await signIn({ ...wallet, sign: evmWallet(0x53).sign }), 401)
  }
})
