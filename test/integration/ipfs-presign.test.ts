/** Uploads by signed address, against a storage that checks signatures as the specification of AWS Signature Version 4 says. */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const hmac = (key: string | Buffer, value: string): Buffer =>
  createHmac('sha256', key).update(value).digest()

/** Signature of a request whose address carries everything but the signature. */
const signatureOf = (method: string, url: URL, secret: string): string => {
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join('&')
  const canonical = [method, url.pathname, query, `host:${url.host}`, '', 'host']
  const hash = createHash('sha256').update([...canonical, 'UNSIGNED-PAYLOAD'].join('\n'))
  const [, day = '', region = '', service = ''] = (
    url.searchParams.get('X-Amz-Credential') ?? ''
  ).split('/')
  const time = url.searchParams.get('X-Amz-Date') ?? ''
  const scope = `${day}/${region}/${service}/aws4_request`
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key, ['AWS4-HMAC-SHA256', time, scope, hash.digest('hex')].join('\n')).toString('hex')
}

const SECRET = 'storage secret'
const stored = new Map<string, string>()
const storage = createServer(async (request, response) => {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`)
  const isSigned =
    url.searchParams.get('X-Amz-Signature') === signatureOf(request.method ?? '', url, SECRET)
  if (isSigned) stored.set(url.pathname, await text(request))
  response.writeHead(isSigned ? 200 : 403).end()
})

let api: TestApi
before(async () => {
  await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve))
  const { port } = storage.address() as AddressInfo
  api = await startApi({
    overrides: {
      ipfsUploadUrl: `http://127.0.0.1:${port}/bucket/`,
      ipfsUploadRegion: 'eu-west-2',
      ipfsUploadKeyId: 'key-id',
      ipfsUploadSecret: SECRET,
    },
  })
})
after(async () => {
  await api.stop()
  storage.close()
})

const presign = async (version: string): Promise<URL> => {
  const {
    status,
    body,
    text: raw,
  } = await callApi(api, `/${version}/ipfs/presign`, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey },
  })
  assert.equal(status, 200, raw)
  return new URL((body as { readonly presignUrl: string }).presignUrl)
}

const put = async (url: URL, body: string): Promise<number> =>
  (await fetch(url, { method: 'PUT', body })).status

test('the check of signatures agrees with the example that the specification prints', () => {
  const query = new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request',
    'X-Amz-Date': '20130524T000000Z',
    'X-Amz-Expires': '86400',
    'X-Amz-SignedHeaders': 'host',
  })
  const url = new URL(`https://examplebucket.s3.amazonaws.com/test.txt?${query}`)
  assert.equal(
    signatureOf('GET', url, 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
    'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  )
})

test('a signed address takes one new file for a quarter of an hour, and nothing else', async () => {
  const [one, other] = [await presign('v2'), await presign('v1')]
  assert.notEqual(one.pathname, other.pathname)
  assert.equal(one.searchParams.get('X-Amz-Expires'), '900')
  assert.match(one.searchParams.get('X-Amz-Credential') ?? '', /^key-id\/\d{8}\/eu-west-2\/s3\//)
  assert.equal(await put(one, 'a picture'), 200)
  assert.equal(stored.get(one.pathname), 'a picture')
  const moved = new URL(one)
  moved.pathname = '/bucket/other'
  const longer = new URL(one)
  longer.searchParams.set('X-Amz-Expires', '9000')
  for (const url of [moved, longer]) assert.equal(await put(url, 'x'), 403)
  assert.equal((await fetch(one)).status, 403)
})
