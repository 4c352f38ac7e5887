/**
 * ClickHouse over HTTP in front of the embedded engine, as a process of its own: enough of the protocol for the client that
 * the product uses. Text formats only, whole answers. First argument: the folder. Prints its address when it listens.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { Session } from 'chdb'

/** Parameters of the protocol that are not settings of the engine. */
const PROTOCOL_PARAMETERS = new Set([
  ...['query', 'query_id', 'database', 'default_format', 'user', 'password', 'role', 'quota_key'],
  ...['session_id', 'session_timeout', 'session_check', 'compress', 'decompress'],
  ...['enable_http_compression', 'http_zlib_compression_level', 'wait_end_of_query'],
  ...['send_progress_in_http_headers', 'http_headers_progress_interval_ms', 'buffer_size'],
])
const NOT_FOUND_CODES = new Set([46, 47, 60, 81])

const quoteSql = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const sessionSettings = (query: URLSearchParams): readonly string[] => [
  `USE ${query.get('database') ?? 'default'}`,
  ...[...query]
    .filter(([name]) => !PROTOCOL_PARAMETERS.has(name))
    .map(([name, value]) => `SET ${name} = ${quoteSql(value)}`),
]

/** An engine session of its own per request: settings must not leak into the next one. */
const run = async (folder: string, query: URLSearchParams, body: string): Promise<Buffer> => {
  const session = new Session(folder)
  try {
    for (const statement of sessionSettings(query)) await session.queryAsync(statement, {})
    const head = query.get('query')
    const sql = head === null ? body : body === '' ? head : `${head}\n${body}`
    const format = query.get('default_format') ?? 'TabSeparated'
    return Buffer.from((await session.queryAsync(sql, { format })).bytes())
  } finally {
    session.close()
  }
}

const answer = async (
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bridge')
  if (pathname === '/ping') {
    response.end('Ok.\n')
    return
  }
  const zipped = request.headers['content-encoding'] === 'gzip'
  const body = await text(zipped ? request.pipe(createGunzip()) : request)
  try {
    const bytes = await run(folder, searchParams, body)
    response.writeHead(200, { 'X-ClickHouse-Summary': '{}' }).end(bytes)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const code = Number(/Code: (\d+)/.exec(message)?.[1] ?? 1002)
    response
      .writeHead(NOT_FOUND_CODES.has(code) ? 404 : 500, {
        'X-ClickHouse-Exception-Code': String(code),
      })
      .end(`Code: ${code}. ${message.replace(/^.*?Code: \d+\. ?/s, '')}\n`)
  }
}

const [, , folder = ''] = process.argv
const keepAliveSession = new Session(folder)
await keepAliveSession.queryAsync('CREATE DATABASE IF NOT EXISTS sluice', {})
const server = createServer((request, response) => {
  answer(folder, request, response).catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) {
    process.stdout.write(`http://127.0.0.1:${address.port}\n`)
  }
})
