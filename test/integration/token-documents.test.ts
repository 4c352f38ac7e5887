import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { startTokenDocumentsStack } from '../support/token-documents-stack.ts'
import { until } from '../support/until.ts'
import { type RespondTo, startWebhookReceiver } from '../support/webhook-receiver.ts'

const CID = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG'
/** An answer may take long on a busy machine; only a hanging one has to run into the limit. */
const ALLOW = { metadataAllow: ['127.0.0.1/32'], metadataTimeoutMs: 2_500, metadataTries: 2 }
const LIMIT_MS = 30_000

const json =
  (value: unknown): RespondTo =>
  (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): RespondTo =>
  (response) =>
    response.writeHead(code, headers).end('nothing')

/** A body that never ends, sent as fast as it is taken; says when the other side has had enough. */
const endless =
  (told: { bytes: number; closed: boolean }): RespondTo =>
  (response) => {
    const chunk = Buffer.alloc(64 << 10, ' ')
    response.on('close', () => {
      told.closed = true
    })
    const send = (): void => {
      while (!response.destroyed && told.bytes < 10 << 20) {
        told.bytes += chunk.byteLength
        if (!response.write(chunk)) {
          response.once('drain', send)
          return
        }
      }
      response.end()
    }
    send()
  }

test('documents of new tokens are published; a failed download is counted and delays no other', async () => {
  const receiver = await startWebhookReceiver()
  const inside = createServer((_, response) => response.end('{}'))
  let reached = 0
  inside.on('connection', () => {
    reached += 1
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.2', resolve))
  const address = inside.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const big = { bytes: 0, closed: false }
  const { base } = receiver
  receiver.answer(
    '/ok',
    json({ description: 'A coin', image: `ipfs://${CID}`, twitter: 'https://x.com/a' }),
  )
  receiver.answer(`/ipfs/${CID}`, json({ description: 'From the gateway' }))
  receiver.answer('/gone', status(404))
  receiver.answer('/hang', () => undefined)
  receiver.answer('/big', endless(big))
  receiver.answer('/text', (response) => response.end('<html>'))
  receiver.answer('/moved', status(302, { location: '/ok' }))
  receiver.answer('/inside', status(302, { location: `http://127.0.0.2:${port}/` }))
  receiver.answer('/loop', status(301, { location: '/loop' }))
  receiver.answer('/later', (response, request, nth) =>
    (nth === 1 ? status(503) : json({ description: 'Second try' }))(response, request, nth),
  )
  const stack = await startTokenDocumentsStack({ ...ALLOW, metadataIpfsGateway: `${base}/ipfs/` })
  try {
    await stack.start()
    const uris: Readonly<Record<string, string>> = {
      hang: `${base}/hang`,
      ok: `${base}/ok`,
      ipfs: `ipfs://${CID}`,
      data: 'data:application/json,%7B%22description%22%3A%22Inline%22%7D',
      gone: `${base}/gone`,
      big: `${base}/big`,
      text: `${base}/text`,
      moved: `${base}/moved`,
      inside: `${base}/inside`,
      straight: `http://127.0.0.2:${port}/`,
      loop: `${base}/loop`,
      later: `${base}/later`,
      scheme: 'ftp://a.example/',
      none: '',
    }
    for (const [mint, uri] of Object.entries(uris)) await stack.born(mint, uri)
    await until(() => stack.isDone(), 'every birth is done', LIMIT_MS)
    const documents = await stack.documents()
    assert.deepEqual(
      Object.fromEntries(
        documents.map(({ token, token_processed }) => [
          token?.address,
          token_processed?.description,
        ]),
      ),
      {
        ok: 'A coin',
        moved: 'A coin',
        ipfs: 'From the gateway',
        data: 'Inline',
        later: 'Second try',
      },
    )
    assert.equal(documents.length, 5)
    const ok = documents.find(({ token }) => token?.address === 'ok')
    assert.equal(ok?.token?.uri, `${base}/ok`)
    assert.equal(ok?.token?.symbol, 'SYM')
    assert.equal(ok?.launch_from?.protocol_family, 'pump_fun')
    assert.equal(ok?.token_processed?.image_url, `${base}/ipfs/${CID}`)
    assert.deepEqual(ok?.token_processed?.social_medias, { twitter: 'https://x.com/a' })
    assert.match(ok?.token?.additional_metadata.fetched_at ?? '', /^\d{13}$/)
    assert.deepEqual(await stack.dropped(), {
      timeout: 1,
      status: 1,
      'too-large': 1,
      json: 1,
      blocked: 2,
      redirect: 1,
      scheme: 1,
    })
    const asked = (path: string): number => receiver.at(path).length
    assert.deepEqual([asked('/gone'), asked('/hang'), asked('/loop')], [1, 2, 4])
    await until(() => big.closed)
    assert.ok(big.bytes < 10 << 20, 'a body beyond the limit is not read to its end')
    assert.equal(reached, 0, 'nothing connected to the inside address')
  } finally {
    await stack.stop()
    await receiver.stop()
    await new Promise((resolve) => inside.close(resolve))
  }
})

test('a fetched token document is not fetched again: after a restart, a replay, a reorg', async () => {
  const receiver = await startWebhookReceiver()
  const { base } = receiver
  const stack = await startTokenDocumentsStack({ ...ALLOW, metadataTimeoutMs: 60_000 }, 1)
  receiver.answer('/first', (response, request, nth) =>
    nth === 1 ? undefined : json({ description: 'At last' })(response, request, nth),
  )
  receiver.answer('/second', json({ description: 'Soon' }))
  receiver.answer('/third', json({ description: 'Changed' }))
  const texts = async () =>
    (await stack.documents()).map(({ token_processed }) => token_processed?.description)
  try {
    const running = await stack.start()
    await stack.born('first', `${base}/first`)
    await stack.born('second', `${base}/second`)
    await until(async () => (await stack.documents()).length === 1, 'one document', LIMIT_MS)
    assert.equal(await stack.isDone(), false)
    await running.stop()
    await stack.start()
    await until(() => stack.isDone(), 'every birth is done', LIMIT_MS)
    assert.deepEqual(await texts(), ['Soon', 'At last'])
    await stack.born('second', `${base}/second`, 'OP_REVERT')
    await stack.born('second', `${base}/second`)
    await stack.born('second', `${base}/third`)
    await until(() => stack.isDone(), 'every birth is done', LIMIT_MS)
    assert.deepEqual(await texts(), ['Soon', 'At last', 'Changed'])
    assert.deepEqual([receiver.at('/first').length, receiver.at('/second').length], [2, 1])
  } finally {
    await stack.stop()
    await receiver.stop()
  }
})

test('more token documents than the window holds are all fetched, also from one host', async () => {
  const receiver = await startWebhookReceiver()
  receiver.answer('/same', json({ description: 'Same' }))
  const stack = await startTokenDocumentsStack({ ...ALLOW, metadataTimeoutMs: 30_000 }, 1)
  try {
    for (let nth = 0; nth < 600; nth += 1) await stack.born(`m${nth}`, `${receiver.base}/same`)
    await stack.start()
    await until(() => stack.isDone(), 'every birth is done', LIMIT_MS)
    assert.equal((await stack.documents()).length, 600)
  } finally {
    await stack.stop()
    await receiver.stop()
  }
})
