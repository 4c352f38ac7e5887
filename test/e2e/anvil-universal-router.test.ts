/** Swaps through the real Universal Router and the real Permit2 on a real node: approvals, permits, mixed paths, splits. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseEther,
  parseTransaction,
} from 'viem'
import type { SwapRouteResponse } from '../../schemas/api/swap.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { deployUniswap, type UniswapContracts } from '../support/nodes/uniswap-contracts.ts'
import { type ContractQuoter, deployContractQuoter } from '../support/nodes/uniswap-quoter.ts'
import { chainExtraOf } from '../support/nodes/uniswap-v2-v3.ts'
import {
  deployUniversalRouter,
  type UniversalRouterContracts,
  universalRouterRow,
} from '../support/nodes/universal-router.ts'
import { fetchSdk, parseWithSdk } from '../support/python-clients.ts'
import { COIN, type SwapStack, startSwapStack, type WantedSwap } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const TRANSFER = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])
const ALLOWANCE = parseAbi([
  'function allowance(address, address, address) view returns (uint160, uint48, uint48)',
])
const PERMIT = parseAbi([
  'struct Details { address token; uint160 amount; uint48 expiration; uint48 nonce; }',
  'struct Single { Details details; address spender; uint256 sigDeadline; }',
  'function permit(address owner, Single permitSingle, bytes signature)',
])
const FULL = [-887_220, 887_220] as const

let anvil: Anvil
let uniswap: UniswapContracts
let universal: UniversalRouterContracts
let quoteByContract: ContractQuoter
let stack: SwapStack
/** `usd` trades with WETH on both families, `far` only on V2, `near` only on V3. */
let usd: Address
let far: Address
let near: Address
const small = parseEther('900') + 3n
const large = parseEther('200000')
const signer = devAccount(1)
const owner = signer.address

before(async () => {
  anvil = await startAnvil()
  const { client } = anvil
  uniswap = await deployUniswap(client, parseEther('5000'))
  const { weth, v2Factory, v3Factory, v2Router, v3Router } = uniswap
  universal = await deployUniversalRouter(client, uniswap)
  quoteByContract = await deployContractQuoter(client, uniswap)
  usd = await uniswap.newToken()
  far = await uniswap.newToken()
  near = await uniswap.newToken()
  const amounts = [parseEther('2000000'), parseEther('1000')] as const
  const v2Usd = await uniswap.addV2([usd, weth], amounts)
  await uniswap.addV2([far, weth], [parseEther('500000'), parseEther('500')])
  const v3Usd = await uniswap.openV3([usd, weth], 3_000, [2_000n, 1n])
  await uniswap.mintV3([usd, weth], 3_000, { ticks: FULL, amounts })
  await uniswap.openV3([near, weth], 3_000, [1_000n, 1n])
  const deep = [parseEther('500000'), parseEther('500')] as const
  await uniswap.mintV3([near, weth], 3_000, { ticks: FULL, amounts: deep })
  // A pool's value is known once its token has traded, and only then do routes lead through it.
  await uniswap.swapV2([usd, weth], parseEther('2000'))
  await uniswap.swapV3([usd, weth], 3_000, parseEther('2000'))
  await uniswap.swapV2([far, weth], parseEther('1000'))
  await uniswap.swapV3([near, weth], 3_000, parseEther('1000'))
  for (const token of [usd, far, near]) {
    await client.writeContract({
      address: token,
      abi: TRANSFER,
      functionName: 'transfer',
      gas: 200_000n,
      args: [owner, parseEther('900000')],
    })
  }
  stack = await startSwapStack(anvil, {
    ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
    routers: [
      { protocol: 'uniswap_v2', router: v2Router.toLowerCase() },
      { protocol: 'uniswap_v3', router: v3Router.toLowerCase() },
    ],
    universalRouter: universalRouterRow(universal),
  })
  await buildNow({ sold: far, bought: near, amount: small })
})
after(async () => {
  await stack?.stop()
  await anvil.stop()
})

type Wanted = Omit<WantedSwap, 'dex'> & { readonly dex?: string }

/** What the API builds once it knows the pools as the contracts have them. */
const buildNow = (wanted: Wanted, more: object = {}): Promise<SwapRouteResponse> =>
  until(async () => {
    const asked = { dex: 'auto', ...wanted, owner }
    const { status, body } = await stack.build(asked, { router: 'universal', ...more })
    assert.equal(status, 200, JSON.stringify(body))
    for (const hop of body.routeInfo.hops) {
      const isExactIn = wanted.exactIn ?? true
      const expected = await quoteByContract(hop, isExactIn)
      assert.equal(BigInt(isExactIn ? hop.outAmount : hop.inAmount), expected)
    }
    return body
  }, 'a route as the contracts have it')

type Permit = Extract<SwapRouteResponse['permitData'], { readonly primaryType: 'PermitSingle' }>

const sign = (permit: Permit, by = signer): Promise<Hex> => by.signTypedData(permit as never)

const send = async (to: Address, data: Hex) => {
  const hash = await anvil.client.sendTransaction({ account: signer, to, data, gas: 200_000n })
  const receipt = await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')
  assert.equal(receipt.status, 'success')
}

/** Lets Permit2 take a token, as the answer says. */
const approve = async (wanted: Wanted): Promise<void> => {
  const { approval, routeInfo } = await buildNow(wanted)
  if (approval === undefined || approval.spender !== universal.permit2.toLowerCase()) return
  assert.equal(routeInfo.simulated, false)
  await send(approval.token as Address, approval.data as Hex)
}

/** The typed data that an answer asks to be signed. */
const permitOf = async (wanted: Wanted, more: object = {}): Promise<Permit> => {
  await approve(wanted)
  const { permitData, approval, routeInfo } = await buildNow(wanted, more)
  assert.ok(permitData?.primaryType === 'PermitSingle')
  assert.equal(routeInfo.simulated, false)
  assert.equal(approval?.token, universal.permit2.toLowerCase(), 'Permit2 may be asked instead')
  return permitData
}

/** Approves, signs and builds again: the transaction that is to be mined. */
const permitted = async (wanted: Wanted, more: object = {}): Promise<SwapRouteResponse> => {
  if (wanted.sold === COIN) return buildNow(wanted, more)
  const permitData = await permitOf(wanted, more)
  return buildNow(wanted, { ...more, permit: await sign(permitData), permitData })
}

/** Mines what was built; what was paid and what arrived, gas apart. */
const mine = async (wanted: Wanted, body: SwapRouteResponse) => {
  assert.equal(body.routeInfo.simulated, true)
  assert.deepEqual([body.approval, body.permitData], [undefined, undefined])
  assert.equal(body.tx?.to, universal.router.toLowerCase())
  const [sold, bought] = [wanted.sold, wanted.bought]
  const before = [await stack.heldBy(owner, sold), await stack.heldBy(owner, bought)] as const
  const gas = await stack.signAndMine(signer, body.txHex as Hex)
  const paid = before[0] - (await stack.heldBy(owner, sold)) - (sold === COIN ? gas : 0n)
  const got = (await stack.heldBy(owner, bought)) - before[1] + (bought === COIN ? gas : 0n)
  return [paid, got] as const
}

/** Nothing stays with the router. */
const requireEmptyRouter = async (): Promise<void> => {
  for (const token of [COIN, usd, far, near, uniswap.weth]) {
    assert.equal(await stack.heldBy(universal.router, token), 0n, token)
  }
}

test('swaps through the Universal Router are signed, mined, and pay the amounts of their route', async () => {
  const { weth } = uniswap
  const cases: readonly (Wanted & { readonly families: string; readonly paths: number })[] = [
    { dex: 'uniswap_v2', sold: usd, bought: weth, amount: small, families: '2', paths: 1 },
    { dex: 'uniswap_v3', sold: usd, bought: weth, amount: small, families: '3', paths: 1 },
    { sold: far, bought: near, amount: small, families: '23', paths: 1 },
    { sold: near, bought: far, amount: small, families: '32', paths: 1 },
    { sold: usd, bought: weth, amount: large, families: '23', paths: 2 },
    { sold: usd, bought: COIN, amount: large, families: '23', paths: 2 },
    { dex: 'uniswap_v3', sold: near, bought: COIN, amount: small, families: '3', paths: 1 },
    { sold: COIN, bought: usd, amount: parseEther('50'), families: '23', paths: 2 },
    {
      dex: 'uniswap_v2',
      sold: COIN,
      bought: far,
      amount: parseEther('0.7'),
      families: '2',
      paths: 1,
    },
    {
      dex: 'uniswap_v3',
      sold: COIN,
      bought: near,
      amount: parseEther('0.7'),
      families: '3',
      paths: 1,
    },
  ]
  for (const { families, paths, ...wanted } of cases) {
    const body = await permitted(wanted)
    const { hops, inAmount, outAmount } = body.routeInfo
    const name = `${families} ${wanted.sold} ${wanted.bought}`
    const seen = hops.map(({ dex }) => dex.slice(-1)).sort()
    assert.equal(seen.join(''), [...families].sort().join(''), name)
    assert.equal(hops.filter(({ inputMint }) => inputMint === hops[0]?.inputMint).length, paths)
    assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)], name)
    await requireEmptyRouter()
  }
})

test('the Universal Router buys an exact output for the quoted input, over both families at once', async () => {
  const { weth } = uniswap
  const cases: readonly (Wanted & { readonly paths: number })[] = [
    { dex: 'uniswap_v2', sold: usd, bought: weth, amount: parseEther('1.5') + 7n, paths: 1 },
    { dex: 'uniswap_v3', sold: usd, bought: weth, amount: parseEther('1.5') + 7n, paths: 1 },
    { sold: usd, bought: weth, amount: parseEther('90'), paths: 2 },
    { sold: usd, bought: COIN, amount: parseEther('90'), paths: 2 },
    { sold: COIN, bought: usd, amount: parseEther('150000'), paths: 2 },
    { dex: 'uniswap_v2', sold: usd, bought: far, amount: small, paths: 1 },
    { dex: 'uniswap_v3', sold: near, bought: usd, amount: small, paths: 1 },
  ]
  for (const { paths, ...each } of cases) {
    const wanted = { ...each, exactIn: false }
    const body = await permitted(wanted)
    const { hops, inAmount, outAmount } = body.routeInfo
    assert.equal(hops.filter(({ inputMint }) => inputMint === hops[0]?.inputMint).length, paths)
    const [paid, got] = await mine(wanted, body)
    assert.equal(paid, BigInt(inAmount))
    // A pair pays out what its input is worth: the input is rounded up, so a few units more may arrive.
    const more = got - BigInt(outAmount)
    assert.ok(more >= 0n && more * 10n ** 9n < got, `${more} more than asked for`)
    if (wanted.dex === 'uniswap_v3') assert.equal(more, 0n)
    await requireEmptyRouter()
  }
})

test('without a chosen router, the Universal Router is used where no router of one protocol can swap', async () => {
  const wanted = { dex: 'auto', sold: far, bought: near, amount: small, owner }
  const { status, body } = await stack.build(wanted)
  assert.deepEqual([status, body.tx?.to], [200, universal.router.toLowerCase()])
  const codeOf = async (more: object, changed: object = {}) => {
    const answer = await stack.build({ ...wanted, ...changed }, more)
    return [answer.status, answer.body.code]
  }
  assert.deepEqual(await codeOf({ router: 'protocol' }), [422, 50010])
  assert.deepEqual(await codeOf({ router: 'other' }), [400, 40002])
  // No command buys an exact amount across both families.
  assert.deepEqual(await codeOf({ router: 'universal' }, { exactIn: false }), [422, 50010])
  assert.deepEqual(await codeOf({ dex: 'uniswap_v2' }), [422, 50010])
  // The routers read these addresses as themselves and their caller.
  for (const end of ['0', '1', '2']) {
    const recipientAddress = `0x${end.padStart(40, '0')}`
    assert.deepEqual(await codeOf({ recipientAddress, router: 'universal' }), [400, 40005])
  }
  const usual = await stack.build({ ...wanted, bought: uniswap.weth })
  assert.equal(usual.body.tx?.to, uniswap.v2Router.toLowerCase())
})

test('another recipient receives the output amount of the route, also of a split route', async () => {
  const recipientAddress = devAccount(5).address
  const wanted = { sold: usd, bought: uniswap.weth, amount: large }
  const body = await permitted(wanted, { recipientAddress })
  const held = await stack.heldBy(recipientAddress, uniswap.weth)
  assert.equal((await mine(wanted, body))[1], 0n)
  const got = (await stack.heldBy(recipientAddress, uniswap.weth)) - held
  assert.equal(got, BigInt(body.routeInfo.outAmount))
})

test('an approval transaction of Permit2 replaces the signed permit', async () => {
  const wanted = { sold: far, bought: uniswap.weth, amount: small }
  await permitOf(wanted)
  const { approval } = await buildNow(wanted)
  await send(approval?.token as Address, approval?.data as Hex)
  const body = await buildNow(wanted)
  const { inAmount, outAmount } = body.routeInfo
  assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)])
})

test('a swap response names the approval and the permit; with a signed permit only the approval remains', async () => {
  const other = devAccount(4)
  const sent = await anvil.client.writeContract({
    address: far,
    abi: TRANSFER,
    functionName: 'transfer',
    gas: 200_000n,
    args: [other.address, small],
  })
  await anvil.client.waitForTransactionReceipt({ hash: sent })
  const asked = { dex: 'auto', sold: far, bought: near, amount: small, owner: other.address }
  const first = await stack.build(asked, { router: 'universal' })
  const { approval, permitData } = first.body
  assert.deepEqual(
    [approval?.token, approval?.spender],
    [far.toLowerCase(), universal.permit2.toLowerCase()],
  )
  assert.ok(permitData?.primaryType === 'PermitSingle')
  const permit = await sign(permitData, other)
  const { status, body } = await stack.build(asked, { permit, permitData })
  assert.deepEqual([status, body.permitData, body.routeInfo.simulated], [200, undefined, false])
  assert.deepEqual(body.approval, approval)
  const more = await stack.build({ ...asked, amount: small + 1n }, { router: 'universal' })
  assert.deepEqual([more.status, more.body.code], [422, 50017])
})

test('the stock SDK parses a swap response with a permit and has a field for the signed permit', async () => {
  const asked = { dex: 'kyberswap', sold: usd, bought: far, amount: small, owner }
  const { body } = await stack.build(asked, { router: 'universal', slippage: 1 })
  assert.ok(body.permitData)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-permit-'))
  try {
    await fetchSdk()
    const file = join(folder, 'pairs.json')
    const withPermit = { ...body, args: { ...body.args, permit: '0x00' } }
    writeFileSync(file, JSON.stringify([['SwapRouteResponse', withPermit]]))
    const [parsed] = await parseWithSdk(file)
    assert.equal(parsed?.serializedTx, body.serializedTx)
    assert.deepEqual(parsed?.routeInfo, body.routeInfo)
    const { args } = parsed ?? {}
    assert.equal((args as { readonly permit?: string }).permit, '0x00')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a permit allows the router exactly the sold amount, and is valid once', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  assert.equal(permitData.message.details.amount, small.toString())
  const body = await buildNow(wanted, { permit, permitData })
  await mine(wanted, body)
  const [left] = await anvil.client.readContract({
    address: universal.permit2,
    abi: ALLOWANCE,
    functionName: 'allowance',
    args: [owner, usd, universal.router],
  })
  assert.equal(left, 0n)
  const again = await stack.build({ dex: 'auto', ...wanted, owner }, { permit, permitData })
  assert.deepEqual([again.status, again.body.code], [400, 40002])
  // The chain refuses the same, too.
  assert.equal(await statusOf(body.txHex as Hex), 'reverted')
})

/** The call that hands a signed permit of the owner to Permit2. */
const permitCall = ({ message }: Permit, signature: Hex): Hex => {
  const { details, spender, sigDeadline } = message
  const { token, amount, ...rest } = details
  const single = {
    details: { ...rest, token: token as Address, amount: BigInt(amount) },
    spender: spender as Address,
    sigDeadline: BigInt(sigDeadline),
  }
  return encodeFunctionData({ abi: PERMIT, args: [owner, single, signature] })
}

test('a swap runs although another account submitted its permit first', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  const body = await buildNow(wanted, { permit, permitData })
  const hash = await anvil.client.sendTransaction({
    account: devAccount(5),
    gas: 200_000n,
    to: universal.permit2 as Address,
    data: permitCall(permitData, permit),
  })
  const receipt = await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')
  assert.equal(receipt.status, 'success')
  const [paid] = await mine(wanted, body)
  assert.equal(paid, small)
})

test('a permit encoded as a call of Permit2 needs no permitData', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const permitData = await permitOf(wanted)
  const permit = permitCall(permitData, await sign(permitData)).slice(2)
  const { status, body } = await stack.build({ dex: 'auto', ...wanted, owner }, { permit })
  assert.deepEqual([status, body.routeInfo?.simulated], [200, true])
})

/** How a transaction ends that is signed with the account's next nonce. */
const statusOf = async (hex: Hex): Promise<string> => {
  const { to, data, value } = parseTransaction(hex)
  const hash = await anvil.client.sendTransaction({
    account: signer,
    to: to as Address,
    data: data as Hex,
    gas: 1_000_000n,
    ...(value !== undefined && { value }),
  })
  return (await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')).status
}

interface Change {
  readonly domain?: object
  readonly details?: object
  readonly spender?: string
  readonly sigDeadline?: string
}

/** A permit with other words. */
const changed = (permit: Permit, { domain, details, ...message }: Change): Permit => ({
  ...permit,
  domain: { ...permit.domain, ...domain },
  message: { ...permit.message, ...message, details: { ...permit.message.details, ...details } },
})

test('a permit with any field that does not match the swap is refused', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const asked = { dex: 'auto', ...wanted, owner }
  const good = await permitOf(wanted)
  const refusal = async (more: object, by = asked) => {
    const { status, body } = await stack.build(by, more)
    const { details } = body as { readonly details?: { readonly reason?: string } }
    return [status, body.code, details?.reason]
  }
  const signed = async (permitData: Permit, by = signer) => ({
    permit: await sign(permitData, by),
    permitData,
  })
  const past = Math.floor(Date.now() / 1_000) - 1
  const cases = [
    [{ sigDeadline: String(past) }, 400, 40031, 'sig_deadline'],
    [{ details: { expiration: past } }, 400, 40031, 'expiration'],
    [{ domain: { chainId: 137 } }, 400, 40002, 'other_chain'],
    [{ domain: { verifyingContract: uniswap.v2Router } }, 400, 40002, 'other_contract'],
    [{ spender: uniswap.v2Router }, 400, 40002, 'other_spender'],
    [{ details: { token: near } }, 400, 40002, 'other_token'],
    [{ details: { amount: String(small - 1n) } }, 400, 40002, 'amount'],
    [{ details: { amount: String(1n << 160n) } }, 400, 40002, 'amount'],
    [{ details: { nonce: good.message.details.nonce + 1 } }, 400, 40002, 'nonce'],
  ] as const
  for (const [change, ...expected] of cases) {
    const permitData = changed(good, change)
    const permit = change === cases[7][0] ? await sign(good) : await sign(permitData)
    assert.deepEqual(await refusal({ permit, permitData }), expected, JSON.stringify(change))
  }
  const badSignature = [400, 40026, undefined]
  assert.deepEqual(await refusal(await signed(good, devAccount(2))), badSignature)
  // A signature for another chain, shown as one for this chain, is the signature of somebody else.
  const elsewhere = await sign(changed(good, { domain: { chainId: 137 } }))
  assert.deepEqual(await refusal({ permit: elsewhere, permitData: good }), badSignature)
  const more = changed(good, { details: { amount: String(small * 2n) } })
  assert.deepEqual(await refusal({ permit: await sign(good), permitData: more }), badSignature)
  const permit = await sign(good)
  assert.deepEqual(await refusal({ permitData: good }), [400, 40002, 'signature_missing'])
  assert.deepEqual(await refusal({ permit: 'word' }), [400, 40002, 'encoding'])
  assert.deepEqual(await refusal({ permit }), [400, 40002, 'not_a_permit'])
  const short = permit.slice(0, -2)
  assert.deepEqual(await refusal({ permit: short, permitData: good }), [
    400,
    40002,
    'not_a_signature',
  ])
  const both = { permit, permitData: good }
  assert.deepEqual((await refusal({ ...both, router: 'protocol' })).slice(0, 2), [400, 40002])
  assert.deepEqual(
    (await refusal(both, { ...asked, sold: COIN, bought: usd })).slice(0, 2),
    [400, 40002],
  )
  assert.deepEqual((await refusal({ ...both, permitData: {} })).slice(0, 2), [400, 40001])
  assert.equal((await stack.build(asked, both)).status, 200)
})

test('the contracts refuse a signature of another account or for another chain', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const good = await permitOf(wanted)
  const permit = await sign(good)
  const { txHex = '' } = await buildNow(wanted, { permit, permitData: good })
  const others = [
    await sign(good, devAccount(2)),
    await sign(changed(good, { domain: { chainId: 137 } })),
  ]
  for (const other of others) {
    const forged = txHex.replace(permit.slice(2), other.slice(2))
    assert.notEqual(forged, txHex)
    assert.equal(await statusOf(forged as Hex), 'reverted')
  }
  assert.equal(await statusOf(txHex as Hex), 'success')
})

test('the contracts refuse an expired permit, and a swap after its deadline', async () => {
  const wanted = { sold: usd, bought: uniswap.weth, amount: small }
  const soon = Math.floor(Date.now() / 1_000) + 600
  const permitData = changed(await permitOf(wanted), { sigDeadline: String(soon) })
  const permit = await sign(permitData)
  const deadline = soon + 36_000
  const expiring = await buildNow(wanted, { permit, permitData, deadline })
  const coin = { sold: COIN, bought: usd, amount: parseEther('0.5') }
  const late = await buildNow(coin, { deadline: soon })
  const inTime = await buildNow(coin, { deadline })
  await anvil.client.setNextBlockTimestamp({ timestamp: BigInt(soon) + 1n })
  assert.equal(await statusOf(expiring.txHex as Hex), 'reverted')
  assert.equal(await statusOf(late.txHex as Hex), 'reverted')
  assert.equal(await statusOf(inTime.txHex as Hex), 'success')
})
