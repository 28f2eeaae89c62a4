"""Judges QR codes: segno draws the same, zxing-cpp and ZBar read the text. Usage: qr_readers.py codes FILE."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree

import PIL.Image
import segno
import segno.encoder
import zxingcpp


def pad_to_codeword(bits, version, length):
    bits.extend([0] * (-length % 8))


# segno 1.6.6 adds a whole codeword of zeros to a text that ends at the boundary of one; §7.4.10 adds bits only where the
# text doesn't, as the standard's own example in Annex I shows. Readers see no difference.
segno.encoder.write_padding_bits = pad_to_codeword


def same_as_segno(code):
    def make(mask):
        return segno.make(
            code["text"], error=code["correction"], version=code["version"], mode=code["mode"], mask=mask,
            encoding="utf-8", eci=False, micro=False, boost_error=False)

    theirs = make(code["mask"])
    rows = ["".join("1" if module else "0" for module in row) for row in theirs.matrix]
    assert rows == code["rows"], "segno draws other modules"
    if code["isChosen"]:
        # segno scores a symbol before it has its format information; §7.8.3.1 wants the entire symbol.
        scores = []
        for mask in range(8):
            matrix = [bytearray(row) for row in make(mask).matrix]
            scores.append(segno.encoder.evaluate_mask(matrix, len(matrix), len(matrix)))
        assert scores.index(min(scores)) == code["mask"], f"segno's scores are {scores}"
        smallest = segno.make(
            code["text"], error=code["correction"], mode=code["mode"], encoding="utf-8", eci=False, micro=False,
            boost_error=False)
        assert smallest.version == code["version"], f"segno needs version {smallest.version}"


def svg_rows(svg):
    root = xml.etree.ElementTree.fromstring(svg)
    side = int(root.get("viewBox").split()[2])
    background, dark = root
    assert background.get("fill") == "#fff"
    drawn = [["0"] * side for _ in range(side)]
    path = dark.get("d")
    assert re.fullmatch(r"(M\d+ \d+h\d+v1h-\d+z)*", path)
    for x, y, width, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path):
        assert width == back
        for column in range(int(x), int(x) + int(width)):
            drawn[int(y)][column] = "1"
    return ["".join(row) for row in drawn]


def with_quiet_zone(rows):
    blank = "0" * (len(rows) + 8)
    return [blank] * 4 + ["0000" + row + "0000" for row in rows] + [blank] * 4


def png_rows(code):
    image = PIL.Image.open(code["png"])
    assert image.mode == "1", image.mode
    side, modules = image.width, len(code["rows"])
    scale = side // (modules + 8)
    margin = (side - scale * modules) // 2
    assert margin >= 4 * scale
    pixels = image.load()
    for y in range(side):
        for x in range(side):
            column, row = (x - margin) // scale, (y - margin) // scale
            inside = 0 <= column < modules and 0 <= row < modules
            dark = inside and code["rows"][row][column] == "1"
            assert (pixels[x, y] == 0) == dark, f"pixel {x} {y}"


def zxing(code):
    found = zxingcpp.read_barcodes(PIL.Image.open(code["png"]).convert("L"))
    assert [barcode.text for barcode in found] == [code["text"]], [barcode.text for barcode in found]
    assert found[0].format == zxingcpp.BarcodeFormat.QRCode, found[0].format


def zbar(code):
    # Without the other symbologies, which see bars in big codes.
    ended = subprocess.run(
        ["/usr/bin/zbarimg", "--quiet", "--raw", "--nodbus", "-Sdisable", "-Sqrcode.enable", code["png"]],
        capture_output=True, check=True)
    assert ended.stdout.decode() == code["text"] + "\n", ended.stdout


def codes(path):
    with open(path) as file:
        all_codes = json.load(file)
    for code in all_codes:
        try:
            same_as_segno(code)
            assert svg_rows(code["svg"]) == with_quiet_zone(code["rows"]), "SVG"
            png_rows(code)
            zxing(code)
            zbar(code)
        except Exception:
            print(f"version {code['version']}-{code['correction']} mask {code['mask']}: {code['text'][:80]}")
            raise
        print(f"ok {code['version']}-{code['correction']} mask {code['mask']}")
    print(f"done {len(all_codes)}")


{"codes": codes}[sys.argv[1]](sys.argv[2])
