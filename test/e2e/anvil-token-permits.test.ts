/** Swaps through the real V3 router on a real node that carry a signed permit of the sold token (EIP-2612). */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseEther,
  parseSignature,
  parseTransaction,
} from 'viem'
import type { SwapRouteResponse } from '../../schemas/api/swap.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import {
  deployPermitToken,
  PERMIT_TOKEN_ABI,
  type PermitTokenTerms,
} from '../support/nodes/permit-token.ts'
import { deployUniswap, type UniswapContracts } from '../support/nodes/uniswap-contracts.ts'
import { type ContractQuoter, deployContractQuoter } from '../support/nodes/uniswap-quoter.ts'
import { chainExtraOf } from '../support/nodes/uniswap-v2-v3.ts'
import { fetchSdk, parseWithSdk } from '../support/python-clients.ts'
import { COIN, type SwapStack, startSwapStack, type WantedSwap } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const FULL = [-887_220, 887_220] as const
const NAMED = { name: 'Named', domainName: 'Named', version: '2', isDescribed: false }
const TOKENS = {
  named: NAMED,
  described: { name: 'Shown', domainName: 'Described', version: '7', isDescribed: true },
  misnamed: { ...NAMED, domainName: 'Other' },
  oddForm: {
    ...NAMED,
    permitType: 'Permit(address owner,address spender,uint256 value,uint256 nonce,bytes32 salt)',
  },
} as const satisfies Readonly<Record<string, PermitTokenTerms>>

let anvil: Anvil
let uniswap: UniswapContracts
let quoteByContract: ContractQuoter
let stack: SwapStack
/** Its compiled contract takes permits, too, with version 1. */
let usd: Address
let tokens: Readonly<Record<keyof typeof TOKENS, Address>>
const amount = parseEther('900') + 3n
const signer = devAccount(1)
const owner = signer.address

before(async () => {
  anvil = await startAnvil()
  const { client } = anvil
  uniswap = await deployUniswap(client, parseEther('6000'))
  const { weth, v2Factory, v3Factory, v2Router, v3Router, v3Positions } = uniswap
  quoteByContract = await deployContractQuoter(client, uniswap)
  usd = await uniswap.newToken()
  const amounts = [parseEther('2000000'), parseEther('1000')] as const
  const v2Usd = await uniswap.addV2([usd, weth], amounts)
  const v3Usd = await uniswap.openV3([usd, weth], 3_000, [2_000n, 1n])
  await uniswap.mintV3([usd, weth], 3_000, { ticks: FULL, amounts })
  await uniswap.swapV2([usd, weth], parseEther('2000'))
  await uniswap.swapV3([usd, weth], 3_000, parseEther('2000'))
  const made: Record<string, Address> = {}
  for (const [id, terms] of Object.entries(TOKENS)) {
    const token = await deployPermitToken(client, terms, [v3Positions, v3Router])
    await uniswap.openV3([token, weth], 3_000, [1_000n, 1n])
    const deep = [parseEther('500000'), parseEther('500')] as const
    await uniswap.mintV3([token, weth], 3_000, { ticks: FULL, amounts: deep })
    await uniswap.swapV3([token, weth], 3_000, parseEther('1000'))
    made[id] = token
  }
  tokens = made as typeof tokens
  for (const token of [usd, weth, ...Object.values(tokens)]) {
    const most = token === weth ? '50' : '900000'
    await client.writeContract({
      address: token,
      abi: PERMIT_TOKEN_ABI,
      functionName: 'transfer',
      gas: 200_000n,
      args: [owner, parseEther(most)],
    })
  }
  stack = await startSwapStack(anvil, {
    ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
    routers: [
      { protocol: 'uniswap_v2', router: v2Router.toLowerCase() },
      { protocol: 'uniswap_v3', router: v3Router.toLowerCase() },
    ],
  })
  for (const sold of Object.values(tokens)) await buildNow({ sold, bought: usd, amount })
})
after(async () => {
  await stack?.stop()
  await anvil.stop()
})

type Wanted = Omit<WantedSwap, 'dex'>

const asked = (wanted: Wanted) => ({ dex: 'uniswap_v3', ...wanted, owner })

/** What the API builds once it knows the pools as the contracts have them. */
const buildNow = (wanted: Wanted, more: object = {}): Promise<SwapRouteResponse> =>
  until(async () => {
    const { status, body } = await stack.build(asked(wanted), more)
    assert.equal(status, 200, JSON.stringify(body))
    for (const hop of body.routeInfo.hops) {
      const isExactIn = wanted.exactIn ?? true
      const expected = await quoteByContract(hop, isExactIn)
      assert.equal(BigInt(isExactIn ? hop.outAmount : hop.inAmount), expected)
    }
    return body
  }, 'a route as the contracts have it')

type AnyPermit = Extract<SwapRouteResponse['permitData'], { readonly primaryType: 'Permit' }>
type Permit = Omit<AnyPermit, 'message'> & {
  readonly message: Extract<AnyPermit['message'], { readonly value: string }>
}

const sign = (permit: Permit, by = signer): Promise<Hex> => by.signTypedData(permit as never)

/** The typed data that an answer asks to be signed, beside its approval. */
const permitOf = async (wanted: Wanted, more: object = {}): Promise<Permit> => {
  const { permitData, approval, routeInfo } = await buildNow(wanted, more)
  assert.ok(permitData?.primaryType === 'Permit')
  assert.equal(routeInfo.simulated, false)
  const router = uniswap.v3Router.toLowerCase()
  assert.deepEqual([approval?.token, approval?.spender], [wanted.sold.toLowerCase(), router])
  const { message } = permitData
  assert.ok('value' in message)
  assert.equal(message.value, routeInfo.maxInAmount)
  return { ...permitData, message }
}

const allowed = (token: Address): Promise<bigint> =>
  anvil.client.readContract({
    address: token,
    abi: PERMIT_TOKEN_ABI,
    functionName: 'allowance',
    args: [owner, uniswap.v3Router],
  })

/** Mines what was built; what was paid and what arrived, gas apart. */
const mine = async ({ sold, bought }: Wanted, body: SwapRouteResponse) => {
  assert.equal(body.routeInfo.simulated, true)
  assert.deepEqual([body.approval, body.permitData], [undefined, undefined])
  assert.equal(body.tx?.to, uniswap.v3Router.toLowerCase())
  const before = [await stack.heldBy(owner, sold), await stack.heldBy(owner, bought)] as const
  const gas = await stack.signAndMine(signer, body.txHex as Hex)
  const paid = before[0] - (await stack.heldBy(owner, sold))
  const got = (await stack.heldBy(owner, bought)) - before[1] + (bought === COIN ? gas : 0n)
  return [paid, got] as const
}

/** How a call ends that the signer sends. */
const statusOf = async (to: Address, data: Hex): Promise<string> => {
  const hash = await anvil.client.sendTransaction({ account: signer, to, data, gas: 1_000_000n })
  return (await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')).status
}

const replay = (hex: string | undefined): Promise<string> => {
  const { to, data } = parseTransaction(hex as Hex)
  return statusOf(to as Address, data as Hex)
}

/** A permit as a call of the token. */
const permitCall = ({ message }: Permit, signature: Hex): Hex => {
  const { r, s, yParity } = parseSignature(signature)
  const [value, deadline] = [BigInt(message.value), BigInt(message.deadline)]
  const addresses = [message.owner as Address, message.spender as Address] as const
  return encodeFunctionData({
    abi: PERMIT_TOKEN_ABI,
    functionName: 'permit',
    args: [...addresses, value, deadline, 27 + yParity, r, s],
  })
}

test('swaps with a signed permit of the sold token are mined in one transaction and pay the amounts of their route', async () => {
  const { weth } = uniswap
  const { named, described } = tokens
  const cases = [
    [{ sold: usd, bought: weth, amount }, 'Test Token', '1'],
    [{ sold: named, bought: weth, amount }, 'Named', '2'],
    [{ sold: described, bought: weth, amount }, 'Described', '7'],
    [{ sold: named, bought: usd, amount }, 'Named', '2'],
    [{ sold: described, bought: COIN, amount }, 'Described', '7'],
    [{ sold: named, bought: COIN, amount: parseEther('0.7'), exactIn: false }, 'Named', '2'],
    [{ sold: usd, bought: named, amount, exactIn: false }, 'Test Token', '1'],
  ] as const
  for (const [wanted, name, version] of cases) {
    const permitData = await permitOf(wanted)
    assert.deepEqual([permitData.domain.name, permitData.domain.version], [name, version])
    const body = await buildNow(wanted, { permit: await sign(permitData), permitData })
    const { inAmount, outAmount, maxInAmount } = body.routeInfo
    assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)], name)
    assert.equal(await allowed(wanted.sold), BigInt(maxInAmount) - BigInt(inAmount))
    for (const token of [COIN, wanted.sold, weth]) {
      assert.equal(await stack.heldBy(uniswap.v3Router, token), 0n)
    }
    if (wanted.sold !== usd) await requireNoAllowance(wanted.sold)
  }
})

/** What an ExactOut swap left of its permit is taken back, so that the next swap needs one again. */
const requireNoAllowance = async (token: Address): Promise<void> => {
  const args = [uniswap.v3Router, 0n] as const
  const data = encodeFunctionData({ abi: PERMIT_TOKEN_ABI, functionName: 'approve', args })
  assert.equal(await statusOf(token, data), 'success')
}

test('a token without permits of a known form, or with a domain that cannot be found, is only offered the approval', async () => {
  const cases = [
    { sold: uniswap.weth, bought: usd, amount: parseEther('0.5') },
    { sold: tokens.misnamed, bought: uniswap.weth, amount },
    { sold: tokens.oddForm, bought: uniswap.weth, amount },
  ]
  const wanted = { sold: tokens.named, bought: uniswap.weth, amount }
  const good = await permitOf(wanted)
  for (const each of cases) {
    const { approval, permitData } = await buildNow(each)
    assert.equal(approval?.token, each.sold.toLowerCase())
    assert.equal(permitData, undefined)
    const domain = { ...good.domain, verifyingContract: each.sold }
    const own = { ...good, domain, message: { ...good.message, value: String(each.amount) } }
    const answer = await stack.build(asked(each), { permit: await sign(own), permitData: own })
    assert.deepEqual(refusalOf(answer), [400, 40002, 'token_without_permit'])
  }
  // The V2 router takes no permits, and a swap over a named pool has no field for one.
  const { body } = await stack.build({ ...asked(wanted), dex: 'uniswap_v2', sold: usd })
  assert.deepEqual([Boolean(body.approval), body.permitData], [true, undefined])
  const pool = body.routeInfo.hops[0]?.pool as Address
  const over = await stack.buildOverPool({ ...asked(wanted), dex: 'auto', pool, sold: usd })
  assert.deepEqual([over.status, over.body.permitData], [200, undefined])
})

const refusalOf = (answer: { readonly status: number; readonly body: object }) => {
  const { code, details } = answer.body as {
    readonly code?: number
    readonly details?: { readonly reason?: string }
  }
  return [answer.status, code, details?.reason]
}

interface Change {
  readonly domain?: object
  readonly message?: object
}

/** A permit with other words. */
const changed = (permit: Permit, { domain, message }: Change): Permit => ({
  ...permit,
  domain: { ...permit.domain, ...domain },
  message: { ...permit.message, ...message },
})

test('a permit of a token with any field that does not match the swap is refused', async () => {
  const wanted = { sold: tokens.named, bought: uniswap.weth, amount }
  const good = await permitOf(wanted)
  const refusal = async (more: object, by: Wanted = wanted) =>
    refusalOf(await stack.build(asked(by), more))
  const past = String(Math.floor(Date.now() / 1_000) - 1)
  const cases = [
    [{ message: { deadline: past } }, 400, 40031, 'deadline'],
    [{ domain: { chainId: 137 } }, 400, 40002, 'other_chain'],
    [{ domain: { verifyingContract: tokens.described } }, 400, 40002, 'other_token'],
    [{ domain: { name: 'Other' } }, 400, 40002, 'other_domain'],
    [{ domain: { version: '1' } }, 400, 40002, 'other_domain'],
    [{ message: { spender: uniswap.v2Router } }, 400, 40002, 'other_spender'],
    [{ message: { owner: devAccount(2).address } }, 400, 40002, 'other_owner'],
    [{ message: { value: String(amount - 1n) } }, 400, 40002, 'amount'],
    [{ message: { nonce: String(BigInt(good.message.nonce) + 1n) } }, 400, 40002, 'nonce'],
  ] as const
  for (const [change, ...expected] of cases) {
    const permitData = changed(good, change)
    const found = await refusal({ permit: await sign(permitData), permitData })
    assert.deepEqual(found, expected, JSON.stringify(change))
  }
  const permit = await sign(good)
  const huge = changed(good, { message: { value: String(1n << 256n) } })
  assert.deepEqual(await refusal({ permit, permitData: huge }), [400, 40002, 'amount'])
  const badSignature = [400, 40026, undefined]
  const endless = changed(good, { message: { deadline: '9'.repeat(78) } })
  assert.deepEqual(await refusal({ permit, permitData: endless }), badSignature)
  const byOther = await sign(good, devAccount(2))
  assert.deepEqual(await refusal({ permit: byOther, permitData: good }), badSignature)
  const elsewhere = await sign(changed(good, { domain: { chainId: 137 } }))
  assert.deepEqual(await refusal({ permit: elsewhere, permitData: good }), badSignature)
  const doubled = changed(good, { message: { value: String(amount * 2n) } })
  assert.deepEqual(await refusal({ permit, permitData: doubled }), badSignature)
  assert.deepEqual(await refusal({ permitData: good }), [400, 40002, 'signature_missing'])
  const short = permit.slice(0, -2)
  assert.deepEqual(await refusal({ permit: short, permitData: good }), [
    ...[400, 40002, 'not_a_signature'],
  ])
  const both = { permit, permitData: good }
  const codes = async (more: object, by?: Wanted) => (await refusal(more, by)).slice(0, 2)
  assert.deepEqual(await codes({ ...both, router: 'universal' }), [400, 40002])
  assert.deepEqual(await codes(both, { ...wanted, sold: COIN, bought: usd }), [400, 40002])
  const { primaryType: _type, ...untyped } = good
  assert.deepEqual(await codes({ permit, permitData: untyped }), [400, 40001])
  assert.deepEqual(await codes({ permit, permitData: { ...good, primaryType: 'Other' } }), [
    ...[400, 40001],
  ])
  const elsewhereRouted = await stack.build({ ...asked(wanted), dex: 'uniswap_v2' }, both)
  assert.deepEqual(refusalOf(elsewhereRouted).slice(0, 2), [400, 50009])
  assert.equal((await stack.build(asked(wanted), both)).status, 200)
})

test('a permit is taken once: its nonce is refused afterwards, by the API and by the token', async () => {
  const wanted = { sold: tokens.named, bought: uniswap.weth, amount }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  const body = await buildNow(wanted, { permit, permitData })
  await mine(wanted, body)
  const again = await stack.build(asked(wanted), { permit, permitData })
  assert.deepEqual(refusalOf(again), [400, 40002, 'nonce'])
  assert.equal(await replay(body.txHex), 'reverted')
})

test('a permit that another account submits first does not stop the swap', async () => {
  const wanted = { sold: tokens.named, bought: COIN, amount }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  const body = await buildNow(wanted, { permit, permitData })
  const hash = await anvil.client.sendTransaction({
    account: devAccount(6),
    to: wanted.sold,
    data: permitCall(permitData, permit),
    gas: 200_000n,
  })
  const receipt = await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')
  assert.equal(receipt.status, 'success')
  const { inAmount, outAmount } = body.routeInfo
  assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)])
})

test('the stock SDK parses a swap response with a permit of the token, and one to a signed permit', async () => {
  const wanted = { sold: tokens.described, bought: uniswap.weth, amount }
  const ask = (more: object) => stack.build({ ...asked(wanted), dex: 'kyberswap' }, more)
  const first = await ask({ slippage: 1 })
  const { permitData } = first.body
  assert.ok(permitData?.primaryType === 'Permit' && 'value' in permitData.message)
  const signed = { ...permitData, message: permitData.message }
  const permit = permitCall(signed, await sign(signed))
  const second = await ask({ slippage: 1, permit })
  assert.equal(second.status, 200)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-permit-'))
  try {
    await fetchSdk()
    const file = join(folder, 'pairs.json')
    const bodies = [first.body, second.body]
    writeFileSync(file, JSON.stringify(bodies.map((body) => ['SwapRouteResponse', body])))
    const parsed = await parseWithSdk(file)
    for (const [index, { serializedTx, routeInfo }] of bodies.entries()) {
      assert.equal(parsed[index]?.serializedTx, serializedTx)
      assert.deepEqual(parsed[index]?.routeInfo, routeInfo)
    }
    const { args } = parsed[1] ?? {}
    assert.equal((args as { readonly permit?: string }).permit, permit)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a permit encoded as a call of the token needs no permitData, and goes to the V3 router whatever dex says', async () => {
  const wanted = { sold: tokens.described, bought: uniswap.weth, amount }
  const permitData = await permitOf(wanted)
  const signature = await sign(permitData)
  const permit = permitCall(permitData, signature).slice(2)
  const { status, body } = await stack.build({ ...asked(wanted), dex: 'auto' }, { permit })
  assert.deepEqual([status, body.routeInfo?.simulated], [200, true])
  const other = await sign(permitData, devAccount(2))
  const forged = await stack.build(asked(wanted), { permit: permitCall(permitData, other) })
  assert.deepEqual(refusalOf(forged), [400, 40026, undefined])
})

test('the token refuses a permit of another signer or for another chain, and one that is over', async () => {
  const wanted = { sold: tokens.named, bought: uniswap.weth, amount }
  const soon = Math.floor(Date.now() / 1_000) + 600
  const good = await permitOf(wanted)
  const expiring = changed(good, { message: { deadline: String(soon) } })
  const permit = await sign(expiring)
  const deadline = soon + 36_000
  const { txHex = '' } = await buildNow(wanted, { permit, permitData: expiring, deadline })
  const [r, s, v] = [permit.slice(2, 66), permit.slice(66, 130), permit.slice(130)]
  const words = `${v.padStart(64, '0')}${r}${s}`
  assert.ok(txHex.includes(words))
  const others = [
    await sign(expiring, devAccount(2)),
    await sign(changed(expiring, { domain: { chainId: 137 } })),
  ]
  for (const other of others) {
    const [otherR, otherS, otherV] = [other.slice(2, 66), other.slice(66, 130), other.slice(130)]
    const forged = txHex.replace(words, `${otherV.padStart(64, '0')}${otherR}${otherS}`)
    assert.equal(await replay(forged), 'reverted')
  }
  await anvil.client.setNextBlockTimestamp({ timestamp: BigInt(soon) + 1n })
  assert.equal(await replay(txHex), 'reverted')
  const longer = await permitOf(wanted, { deadline })
  const again = await buildNow(wanted, { permit: await sign(longer), permitData: longer, deadline })
  assert.equal(await replay(again.txHex), 'success')
})
