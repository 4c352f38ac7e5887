import { InvalidInput } from '../../core/errors.ts'
import type { TokenEvents } from '../../schemas/wire.ts'
import { type Row, timeText } from './columns.ts'

/** Rows of `{c}_token_documents`. Throws `InvalidInput` for a document that does not say whose it is and when it was fetched. */
export const tokenDocumentRows = ({ events }: TokenEvents): readonly Row[] =>
  events.map(({ token, token_processed: document }) => {
    if (token === null || document === null || token.address === '') {
      throw new InvalidInput('document', 'no document of a token')
    }
    const fetchedMs = token.additional_metadata.fetched_at ?? ''
    if (!/^\d{1,13}$/.test(fetchedMs)) throw new InvalidInput('document', 'fetched at no time')
    return {
      token_address: token.address,
      uri: token.uri,
      description: document.description,
      image_url: document.image_url,
      social: document.social_medias,
      fetched_at: timeText(Number(fetchedMs)),
    }
  })
