//! [`Tag`] and [`Attr`]: the element and attribute names that make a
//! difference, and what each element does to the parser and to text.

/// An element or attribute name as the tokenizer hands it over, piece by
/// piece. Names longer than the buffer keep their true length and can thus
/// never be taken for a known one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    bytes: [u8; Name::ROOM],
    length: usize,
}

impl Name {
    /// Longer than every known name, and long enough to tell the names of
    /// foreign and custom elements apart.
    const ROOM: usize = 32;

    pub(super) const EMPTY: Name = Name {
        bytes: [0; Name::ROOM],
        length: 0,
    };

    #[inline]
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub(super) fn push(&mut self, piece: &[u8]) {
        let end = self.length.saturating_add(piece.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(piece);
        } else if let Some(room) = self.bytes.get_mut(self.length..) {
            room.copy_from_slice(&piece[..room.len()]);
        }
        self.length = end;
    }

    /// The name, or nothing if it does not fit.
    #[inline]
    pub(super) fn known(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        let kept = self.length.min(Name::ROOM);
        self.length == other.length && self.bytes[..kept] == other.bytes[..kept]
    }
}

/// The element ends a run of foreign content (WHATWG HTML section 13.2.6.5).
const BREAKS_OUT: u16 = 1;
/// The element rules out that a frameset follows ("frameset-ok", 13.2.6.4.7).
const RULES_OUT_FRAMES: u16 = 1 << 1;
/// The element is in the category "special" (13.2.4.2).
const SPECIAL: u16 = 1 << 2;
/// Its end tag closes what is open inside it, special or not (13.2.6.4.7).
const CLOSES_INNER: u16 = 1 << 3;
/// Its start tag closes an open `p` (13.2.6.4.7).
const CLOSES_P: u16 = 1 << 4;
/// The element has no content (13.1.2).
const VOID: u16 = 1 << 5;
/// Its borders are line ends in visible text.
const BLOCK: u16 = 1 << 6;
/// Nothing in it is visible.
const UNSEEN: u16 = 1 << 7;
/// Ends of others end it without an end tag ("implied end tags", 13.2.6.3).
const IMPLIED_END: u16 = 1 << 8;
/// The element is reopened where another's end has closed it ("formatting", 13.2.4.3).
const FORMATTING: u16 = 1 << 9;

macro_rules! tags {
    ($($tag:ident $name:literal $($flag:ident)|*;)*) => {
        /// An element by its name; `Other` for those that make no difference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tag { Other, $($tag,)* }

        impl Tag {
            pub(super) const COUNT: usize = [Tag::Other, $(Tag::$tag,)*].len();

            pub(super) fn from_name(name: &[u8]) -> Tag {
                match name {
                    $($name => Tag::$tag,)*
                    _ => Tag::Other,
                }
            }

            #[inline]
            fn flags(self) -> u16 {
                const FLAGS: &[u16] = &[0, $(0 $(| $flag)*,)*];
                FLAGS[self as usize]
            }

            #[cfg(test)]
            const ALL: &[(Tag, &[u8])] = &[$((Tag::$tag, $name),)*];
        }
    };
}

tags! {
    A b"a" FORMATTING;
    Abbr b"abbr";
    Address b"address" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    AnnotationXml b"annotation-xml" UNSEEN;
    Annotation b"annotation" UNSEEN;
    Applet b"applet" SPECIAL | CLOSES_INNER | RULES_OUT_FRAMES;
    Area b"area" SPECIAL | VOID | RULES_OUT_FRAMES;
    Article b"article" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Aside b"aside" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Audio b"audio" UNSEEN;
    B b"b" BREAKS_OUT | FORMATTING;
    Base b"base" SPECIAL | VOID;
    Basefont b"basefont" SPECIAL | VOID;
    Bgsound b"bgsound" SPECIAL | VOID;
    Big b"big" BREAKS_OUT | FORMATTING;
    Blockquote b"blockquote" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Body b"body" BREAKS_OUT | SPECIAL;
    Br b"br" BREAKS_OUT | SPECIAL | VOID | RULES_OUT_FRAMES;
    Button b"button" SPECIAL | CLOSES_INNER | RULES_OUT_FRAMES;
    Canvas b"canvas" UNSEEN;
    Caption b"caption" SPECIAL | CLOSES_INNER | BLOCK;
    Center b"center" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Cite b"cite";
    Code b"code" BREAKS_OUT | FORMATTING;
    Col b"col" SPECIAL | VOID;
    Colgroup b"colgroup" SPECIAL;
    Datalist b"datalist" UNSEEN;
    Dd b"dd" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK | IMPLIED_END;
    Defs b"defs" UNSEEN;
    Del b"del";
    Desc b"desc" UNSEEN;
    Details b"details" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Dfn b"dfn";
    Dialog b"dialog" CLOSES_INNER | CLOSES_P | BLOCK;
    Dir b"dir" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Div b"div" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Dl b"dl" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Dt b"dt" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK | IMPLIED_END;
    Em b"em" BREAKS_OUT | FORMATTING;
    Embed b"embed" BREAKS_OUT | SPECIAL | VOID | RULES_OUT_FRAMES;
    Fieldset b"fieldset" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Figcaption b"figcaption" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Figure b"figure" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Font b"font" FORMATTING;
    Footer b"footer" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    ForeignObject b"foreignobject";
    Form b"form" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Frame b"frame" SPECIAL | VOID;
    Frameset b"frameset" SPECIAL;
    H1 b"h1" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    H2 b"h2" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    H3 b"h3" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    H4 b"h4" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    H5 b"h5" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    H6 b"h6" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Head b"head" BREAKS_OUT | SPECIAL;
    Header b"header" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Hgroup b"hgroup" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Hr b"hr" BREAKS_OUT | SPECIAL | VOID | RULES_OUT_FRAMES | CLOSES_P | BLOCK;
    Html b"html" SPECIAL;
    I b"i" BREAKS_OUT | FORMATTING;
    Iframe b"iframe" SPECIAL | RULES_OUT_FRAMES;
    Image b"image" VOID | RULES_OUT_FRAMES;
    Img b"img" BREAKS_OUT | SPECIAL | VOID | RULES_OUT_FRAMES;
    Input b"input" SPECIAL | VOID;
    Ins b"ins";
    Kbd b"kbd";
    Keygen b"keygen" SPECIAL | VOID | RULES_OUT_FRAMES;
    Label b"label";
    Legend b"legend" BLOCK;
    Li b"li" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK | IMPLIED_END;
    Link b"link" SPECIAL | VOID;
    Listing b"listing" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK;
    Main b"main" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Malignmark b"malignmark";
    Map b"map";
    Mark b"mark";
    Marquee b"marquee" SPECIAL | CLOSES_INNER | RULES_OUT_FRAMES | BLOCK;
    Math b"math";
    Menu b"menu" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Meta b"meta" BREAKS_OUT | SPECIAL | VOID;
    Metadata b"metadata" UNSEEN;
    Mglyph b"mglyph";
    Mi b"mi";
    Mn b"mn";
    Mo b"mo";
    Ms b"ms";
    Mtext b"mtext";
    Nav b"nav" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Nobr b"nobr" BREAKS_OUT | FORMATTING;
    Noembed b"noembed" SPECIAL;
    Noframes b"noframes" SPECIAL;
    Noscript b"noscript" SPECIAL;
    Object b"object" SPECIAL | CLOSES_INNER | RULES_OUT_FRAMES | UNSEEN;
    Ol b"ol" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Optgroup b"optgroup" IMPLIED_END;
    Option b"option" BLOCK | IMPLIED_END;
    P b"p" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK | IMPLIED_END;
    Param b"param" SPECIAL | VOID;
    Picture b"picture";
    Plaintext b"plaintext" SPECIAL | CLOSES_P | BLOCK;
    Pre b"pre" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK;
    Q b"q";
    Rb b"rb" IMPLIED_END;
    Rp b"rp" IMPLIED_END;
    Rt b"rt" IMPLIED_END;
    Rtc b"rtc" IMPLIED_END;
    Ruby b"ruby" BREAKS_OUT;
    S b"s" BREAKS_OUT | FORMATTING;
    Samp b"samp";
    Script b"script" SPECIAL;
    Search b"search" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Section b"section" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Select b"select" SPECIAL | CLOSES_INNER | RULES_OUT_FRAMES | UNSEEN;
    Small b"small" BREAKS_OUT | FORMATTING;
    Source b"source" SPECIAL | VOID;
    Span b"span" BREAKS_OUT;
    Strike b"strike" BREAKS_OUT | FORMATTING;
    Strong b"strong" BREAKS_OUT | FORMATTING;
    Style b"style" SPECIAL | UNSEEN;
    Sub b"sub" BREAKS_OUT;
    Summary b"summary" SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Sup b"sup" BREAKS_OUT;
    Svg b"svg";
    Table b"table" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | RULES_OUT_FRAMES | BLOCK;
    Tbody b"tbody" SPECIAL | CLOSES_INNER | BLOCK;
    Td b"td" SPECIAL | CLOSES_INNER;
    Template b"template" SPECIAL;
    Textarea b"textarea" SPECIAL | RULES_OUT_FRAMES;
    Tfoot b"tfoot" SPECIAL | CLOSES_INNER | BLOCK;
    Th b"th" SPECIAL | CLOSES_INNER;
    Thead b"thead" SPECIAL | CLOSES_INNER | BLOCK;
    Time b"time";
    Title b"title" SPECIAL | UNSEEN;
    Tr b"tr" SPECIAL | CLOSES_INNER | BLOCK;
    Track b"track" SPECIAL | VOID;
    Tt b"tt" BREAKS_OUT | FORMATTING;
    U b"u" BREAKS_OUT | FORMATTING;
    Ul b"ul" BREAKS_OUT | SPECIAL | CLOSES_INNER | CLOSES_P | BLOCK;
    Var b"var" BREAKS_OUT;
    Video b"video" UNSEEN;
    Wbr b"wbr" SPECIAL | VOID | RULES_OUT_FRAMES;
    Xmp b"xmp" SPECIAL | CLOSES_P | RULES_OUT_FRAMES | BLOCK;
}

macro_rules! questions {
    ($($name:ident $flag:ident;)*) => {
        impl Tag {
            $(
                #[inline]
                pub(super) fn $name(self) -> bool {
                    self.flags() & $flag != 0
                }
            )*
        }
    };
}

questions! {
    breaks_out BREAKS_OUT;
    rules_out_frames RULES_OUT_FRAMES;
    is_special SPECIAL;
    closes_inner CLOSES_INNER;
    closes_p CLOSES_P;
    is_void VOID;
    is_block BLOCK;
    is_unseen UNSEEN;
    has_implied_end IMPLIED_END;
    is_formatting FORMATTING;
}

impl Tag {
    /// Whether white space in it is kept.
    pub(super) fn is_preformatted(self) -> bool {
        matches!(self, Tag::Pre | Tag::Listing | Tag::Xmp | Tag::Plaintext)
    }

    /// Whether it is a heading: the end tag of one ends any other (13.2.6.4.7).
    pub(super) fn is_heading(self) -> bool {
        use Tag::{H1, H2, H3, H4, H5, H6};
        matches!(self, H1 | H2 | H3 | H4 | H5 | H6)
    }
}

/// The attributes that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attr {
    Href,
    XlinkHref,
    Src,
    Rel,
    Name,
    Property,
    HttpEquiv,
    Content,
    Lang,
    Type,
    Encoding,
    Color,
    Face,
    Size,
    Hidden,
    Style,
    Open,
    Popover,
}

impl Attr {
    pub(super) const COUNT: usize = 18;

    #[inline]
    pub(super) fn from_name(name: &[u8]) -> Option<Attr> {
        Some(match name {
            b"href" => Attr::Href,
            b"xlink:href" => Attr::XlinkHref,
            b"src" => Attr::Src,
            b"rel" => Attr::Rel,
            b"name" => Attr::Name,
            b"property" => Attr::Property,
            b"http-equiv" => Attr::HttpEquiv,
            b"content" => Attr::Content,
            b"lang" => Attr::Lang,
            b"type" => Attr::Type,
            b"encoding" => Attr::Encoding,
            b"color" => Attr::Color,
            b"face" => Attr::Face,
            b"size" => Attr::Size,
            b"hidden" => Attr::Hidden,
            b"style" => Attr::Style,
            b"open" => Attr::Open,
            b"popover" => Attr::Popover,
            _ => return None,
        })
    }
}

/// A set of attributes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttrSet(u32);

impl AttrSet {
    pub(super) const NONE: AttrSet = AttrSet(0);

    pub(super) const fn of(attrs: &[Attr]) -> AttrSet {
        let mut bits = 0;
        let mut n = 0;
        while n < attrs.len() {
            bits |= 1 << attrs[n] as u16;
            n += 1;
        }
        AttrSet(bits)
    }

    #[inline]
    pub(super) fn has(self, attr: Attr) -> bool {
        self.0 & (1 << attr as u16) != 0
    }

    #[inline]
    pub(super) fn add(&mut self, attr: Attr) {
        self.0 |= 1 << attr as u16;
    }

    #[inline]
    pub(super) fn with(self, other: AttrSet) -> AttrSet {
        AttrSet(self.0 | other.0)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_and_is_found_again() {
        for &(tag, text) in Tag::ALL {
            let mut name = Name::EMPTY;
            for byte in text {
                name.push(&[*byte]);
            }
            assert_eq!(Tag::from_name(name.known()), tag);
        }
    }

    #[test]
    fn names_that_do_not_fit_are_no_known_names_and_differ_by_length() {
        let long = |text: &str| {
            let mut name = Name::EMPTY;
            name.push(text.as_bytes());
            name
        };
        let (x, y) = (long(&"x".repeat(40)), long(&"x".repeat(41)));
        assert!(x.known().is_empty() && x != y && x == long(&"x".repeat(40)));
        let mut full = long(&"x".repeat(32));
        assert_eq!(full.known().len(), 32);
        full.push(b"y");
        assert!(full.known().is_empty());
    }

    #[test]
    fn a_set_keeps_its_attributes_apart() {
        let mut set = AttrSet::of(&[Attr::Href, Attr::Style]);
        assert!(set.has(Attr::Href) && set.has(Attr::Style) && !set.has(Attr::Src));
        set.add(Attr::Src);
        assert!(set.has(Attr::Src) && !AttrSet::NONE.has(Attr::Href));
        assert_eq!(Attr::Popover as usize + 1, Attr::COUNT);
    }
}
